"""Normalizes Chinese values, or rejects them if they mean nothing on their own."""

from __future__ import annotations

import re
from functools import cache

from memgraph.llm.offline.rules import pattern, words
from memgraph.llm.offline.sentences import BLANK

_TAIL = re.compile(r"(?:[了啊呀哦哈啦嘛呐哟噢~～!！.。、\s]|的说|等等|等|之类的|什么的)+$")
_WIDE = re.compile(r"[\u2e80-\uffff]")


def tidy(text: str) -> str:
    """Cut *text* where a subordinate clause begins, and strip particles from its end."""
    return _TAIL.sub("", pattern("zh", "cut").sub("", text.strip())).strip(" \"'“”")


def has(name: str, text: str) -> bool:
    """Return whether *text* is in the word list *name*."""
    return text in words("zh", name)


def ends_in(name: str, text: str) -> bool:
    """Return whether *text* ends in a word of the list *name*."""
    return text.endswith(tuple(words("zh", name)))


def starts_with(name: str, text: str) -> bool:
    """Return whether *text* starts with a word of the list *name*."""
    return text.startswith(tuple(words("zh", name)))


def width(text: str) -> float:
    """Return the length of *text* in Chinese characters; a Latin letter is less than half of one."""
    wide = len(_WIDE.findall(text))
    return wide + 0.4 * (len(text) - wide)


def fits(text: str, least: int, most: int) -> bool:
    """Return whether *text* has at least *least* and at most *most* characters."""
    return least <= len(text) <= most


@cache
def _vague() -> re.Pattern[str]:
    return re.compile("|".join(sorted(words("zh", "vague"))))


def is_vague(text: str) -> bool:
    """Return whether *text* refers to something outside it, or to a moment."""
    return not re.search(r"\w", text) or BLANK in text or _vague().search(text.replace("吉他", "")) is not None


def short(text: str, *, limit: int = 22) -> str | None:
    """A few words with a meaning of their own."""
    tidied = tidy(text)
    return None if is_vague(tidied) or width(tidied) > limit else tidied


def plain(text: str) -> str | None:
    """Any text: the pattern was strict enough."""
    return text.strip() or None
