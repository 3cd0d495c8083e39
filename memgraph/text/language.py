"""Which of the two prompt languages a conversation is in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

READ_CHARS = 2_000
"""Of each text; a pasted log after it says little about whoever pasted it."""

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+")
_ENGLISH_NEEDS = """
    a an and are as at be but can could did do does for from had has have how i if in is it me my not of on or our say
    so that the their then there they this to was we were what when where which who why will with would you your
"""
_GRAMMAR = frozenset(_ENGLISH_NEEDS.split())


def language_of(texts: Iterable[str]) -> Literal["en", "zh"]:
    """Return "zh" where Chinese carries the sentences, else "en".

    A Chinese character counts 1, an English term that may stand in a Chinese sentence 0.5, and a
    word that only an English sentence needs 2: "使用 FastAPI 和 SQLAlchemy" is zh, "What does 你好 mean?" is en.
    """
    text = "\n".join(_CODE.sub(" ", text[:READ_CHARS]) for text in texts)
    chinese = len(_HAN.findall(text)) - 2 * len(_KANA.findall(text))
    words = [word.lower() for word in _WORD.findall(text)]
    english = sum(2.0 if word in _GRAMMAR else 0.5 for word in words)
    return "zh" if chinese > 0 and chinese >= english else "en"
