"""How a candidate is called."""
