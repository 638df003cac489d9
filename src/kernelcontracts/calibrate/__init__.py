"""Calibration: three states, mutants, and where each is detected."""
