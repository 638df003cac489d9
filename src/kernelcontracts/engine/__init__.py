"""Plan, cases, observations, margins, verdicts."""
