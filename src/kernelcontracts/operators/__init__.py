"""Emulated kernels with one switch per decision."""
