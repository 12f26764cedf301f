"""Texts from outside, as they are shown."""

from __future__ import annotations


def shortened(text: str, limit: int) -> str:
    """Return a text of at most ``limit`` characters, with dots where it was cut."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
