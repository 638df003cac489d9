"""Results for people and for machines: the same values as text, as one line each, and as JSON."""
