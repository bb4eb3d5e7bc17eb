"""Pieces of pages."""

import re


def shown(text):
    """A < outside of `...` would begin HTML; a | would end the cell."""
    parts = re.split("(`[^`]*`)", " ".join(text.split()).replace("|", "\\|"))
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)


def row(*cells):
    """Of a table."""
    return "| " + " | ".join(map(shown, cells)) + " |"
