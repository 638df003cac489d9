"""Statistics of verdicts, on the standard library alone: rates, means, divided confidence."""
