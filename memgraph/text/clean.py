"""Text as it comes in, made fit to be stored."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def clean(text: str) -> str:
    """Return *text* so that it encodes as UTF-8 and fits a database: no NUL, no half of a surrogate pair."""
    if not _UNSTORABLE.search(text):
        return text
    joined = text.replace("\0", "").encode("utf-16-le", "surrogatepass")
    return joined.decode("utf-16-le", "replace")
