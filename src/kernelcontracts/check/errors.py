"""Requests that cannot be carried out."""

from __future__ import annotations


class RequestError(Exception):
    """Something asked for does not exist or does not fit. The message says what was found and what is expected."""
