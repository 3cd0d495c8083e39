"""Turns that only say "ok", and the questions that make an "ok" worth keeping."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from memgraph.text.fold import words_of
from memgraph.text.signals import load_signals

MAX_WORDS = 14
"""A longer message says more than that."""
MAX_CHARS = 200
ASKED_CHARS = 400
"""How far from its end a question may stand, to have just been asked."""

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUESTION = re.compile(r"[?？](?=[\s\"'”’」』)）\]*_~`]|$|[^\x00-\x7f])|[吗嗎呢](?=[\s。.!！~～]|$)")


def is_acknowledgement(text: str, acknowledgements: AbstractSet[str] | None = None) -> bool:
    """Tell whether the whole of *text* acknowledges: "ok", "OK, thanks!", "好的，谢谢".

    Case, punctuation, emoji and spacing do not matter, but a question mark does.
    """
    if len(text) > MAX_CHARS or "?" in text or "？" in text:
        return False
    known = load_signals().acknowledgements if acknowledgements is None else acknowledgements
    words = words_of(text)
    return 0 < len(words) <= MAX_WORDS and _splits_into(words, known)


def _splits_into(words: list[str], known: AbstractSet[str]) -> bool:
    """Tell whether *words* are a row of known phrases; a phrase is its words joined by a space."""
    reached = {0}
    for end in range(1, len(words) + 1):
        if any(" ".join(words[start:end]) in known for start in reached):
            reached.add(end)
    return len(words) in reached


def asks(text: str) -> bool:
    """Tell whether *text* ends with a question, or one stands near its end."""
    return _QUESTION.search(_CODE.sub(" ", text).rstrip()[-ASKED_CHARS:]) is not None
