"""Detect mentions of uploaded files: a memory must not refer an agent to a file that no longer exists.

A sentence tells of an upload if it has a word for it and one for a file, and none for work on something that accepts
uploads, for others who upload, or for another destination.
"""

from __future__ import annotations

import re

from memgraph.analysis.message import UPLOADS, without_blocks
from memgraph.analysis.normalize import fold
from memgraph.analysis.sentences import sentences
from memgraph.analysis.words import in_order

MAX_SENTENCE_CHARS = 4_000
"""Characters of a sentence that are read; the longest fact has half as many."""


_FILES, _CHINESE_FILES = ("|".join(in_order(name)) for name in ("file_words", "file_words_chinese"))
_FILE = rf"(?:\b(?:{_FILES})s?\b|(?<![\w()-])[\w()-]{{1,60}}(?:\.\w{{1,30}}){{0,3}}\.[a-z]\w{{1,4}}\b|{_CHINESE_FILES})"
_HAS_FILE = re.compile(_FILE)
_UPLOADED = re.compile(r"\b(?:re-?)?(?:upload(?:ed|ing|s)?|attach(?:ed|ing|es|ments?)?)\b|上[传傳载]|附[上加件]")
_GIVEN = re.compile(
    rf"\b(?:shared|sharing|sent|sending|provided|submitted|supplied)(?: [\w'\"-]{{1,30}}){{0,5}}? {_FILE}"
    rf"|(?:分享|提供|发送|提交|发来|传|发)了?[^,。;!?]{{0,12}}{_FILE}"
)
_TRACE = re.compile(r"/?mnt/user-data/uploads|user-data/uploads/|</?(?:uploaded_files|current_uploads)\b")
"""What only an upload leaves in a text: its path, its tag."""
_ELSEWHERE = re.compile(rf"\b(?:{'|'.join(in_order('not_uploads'))})|{'|'.join(in_order('not_uploads_chinese'))}")
_CONTENT = re.compile(r"\b(?:about|and|asked|asks|contain|describ\w*|of a)\b|关于|描述|包含")
"""What follows is about the file, or something else."""


def mentions_upload(text: str) -> bool:
    """Return whether any sentence of *text* is about a file given to the assistant."""
    return any(map(_is_upload, sentences(text)))


def without_uploads(text: str) -> str:
    """Return *text* without lists of uploads and sentences that mention one; "" if nothing is left.

    A text without any is returned unchanged.
    """
    kept = "".join(sentence for sentence in sentences(without_blocks(text, UPLOADS)) if not _is_upload(sentence))
    return text if kept == text else kept.strip()


def _is_upload(sentence: str) -> bool:
    text = fold(sentence[:MAX_SENTENCE_CHARS])
    if _TRACE.search(text):
        return True
    told = _UPLOADED.search(text)
    if not (told and _HAS_FILE.search(text)) and not (told := _GIVEN.search(text)):
        return False
    about = _CONTENT.search(text, told.end())
    return not _ELSEWHERE.search(text, 0, about.start() if about else len(text))
