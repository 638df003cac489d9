"""Inputs to measure at: exact batteries, random strata and shapes, the same bits on every machine."""
