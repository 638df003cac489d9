"""Adapters: how an address becomes something to call."""
