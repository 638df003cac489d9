"""The one place where an AST meets arrays."""
