"""The static checks, one module for each question."""
