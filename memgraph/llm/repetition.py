"""Recognises an answer that repeats itself: small models do so until their length limit, minutes later."""

from __future__ import annotations

import re

MIN_TIMES = 4
"""Times that the end of a text has to be repeated."""
MIN_CHARS = 400
"""Characters of these repetitions."""
MAX_CHARS = 8_000
"""Characters at the end of a text that are searched."""
PROBE_CHARS = 40
"""Characters by which an earlier occurrence of the end is found."""
MAX_PROBES = 40
"""Earlier occurrences that are tried: a part that is repeated may contain its own end more than once."""

_DIGIT = re.compile(r"\d")


def repetition_start(text: str) -> int | None:
    """Return where the first repetition of what *text* ends with begins; None if it does not repeat itself.

    Repetitions may differ in their digits, since a small model counts the turns or the days while it repeats itself.
    Takes linear time.
    """
    end = _DIGIT.sub("0", text[-MAX_CHARS:])
    period = _period(end)
    if period is None:
        return None
    same = len(end) - period
    while same and end[same - 1] == end[same - 1 + period]:
        same -= 1
    return len(text) - len(end) + same + period


def _period(end: str) -> int | None:
    """Return the length of the part that *end* repeats at its end."""
    probe = end[-PROBE_CHARS:]
    at = len(end) - len(probe)
    for _ in range(MAX_PROBES):
        at = end.rfind(probe, 0, at + len(probe) - 1)
        period = len(end) - len(probe) - at
        if at < 0 or period * MIN_TIMES > len(end):
            return None
        times = max(MIN_TIMES, -(-MIN_CHARS // period))
        if end.endswith(end[-period:] * times):
            return period
    return None
