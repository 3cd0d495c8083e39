"""Text that users wrote, made harmless inside a tagged block, and back."""

from __future__ import annotations

import html


def escape(text: str) -> str:
    """Return *text* so that it cannot open or close a tag of the block it stands in."""
    return html.escape(text, quote=False)


def unescape(text: str) -> str:
    """Undo `escape`."""
    return html.unescape(text)
