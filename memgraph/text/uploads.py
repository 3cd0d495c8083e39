"""What says that a file was uploaded: no memory may send an agent looking for a file that is gone.

An upload is an event, told in the past tense or of one file ("the uploaded report"). To build
something that takes uploads is work, and worth remembering.
"""

from __future__ import annotations

import re

from memgraph.text.blocks import UPLOADS, without_blocks
from memgraph.text.fold import fold
from memgraph.text.sentences import sentences
from memgraph.text.upload_patterns import ELSEWHERE, EVENTS, HINTS, IN_GENERAL, LIKELY, MADE_FOR_IT, TRACES

READ_CHARS = 4_000
"""Of a sentence; the longest fact has half of that."""


def mentions_upload(sentence: str) -> bool:
    """Tell whether *sentence*, or any sentence of it, says that a file was given to the assistant."""
    return any(_tells_upload(one) for one in sentences(sentence))


def without_uploads(text: str) -> str:
    """Return *text* less the sentences that say a file was uploaded, and less lists of uploads; "" if nothing is left.

    A text that says nothing of the kind comes back as it is.
    """
    kept = [one for one in sentences(without_blocks(text, UPLOADS)) if not _tells_upload(one)]
    left = "".join(kept)
    return text if left == text else left.strip()


def _tells_upload(sentence: str) -> bool:
    text = fold(sentence[:READ_CHARS])
    if not any(hint in text for hint in HINTS):
        return False
    if TRACES.search(text):
        return True
    if event := EVENTS.search(text):
        return not ELSEWHERE.search(text, event.start())
    return any(_is_upload(text, likely) for likely in LIKELY.finditer(text))


def _is_upload(text: str, likely: re.Match[str]) -> bool:
    is_general = MADE_FOR_IT.search(text, 0, likely.start()) or IN_GENERAL.match(text, likely.end())
    return not is_general and not ELSEWHERE.search(text, likely.start())
