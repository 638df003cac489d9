"""The contract language: text, tree, checks."""
