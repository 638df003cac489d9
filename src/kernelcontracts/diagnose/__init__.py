"""Naming the cause of a violation."""
