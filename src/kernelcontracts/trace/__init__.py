"""The trace: a line of JSON for every case and clause of a run, enough to replay each alone."""
