"""Rounding, intervals, exact references, error bounds."""
