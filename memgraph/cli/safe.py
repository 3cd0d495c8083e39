"""Text that somebody else wrote, made harmless for a terminal."""

from __future__ import annotations

import json
import re

# Controls, lone surrogates, line separators, and what turns the direction of the text around.
_HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def harmless(text: str) -> str:
    r"""*text* with every character that could steer a terminal written out, as in `\x1b`."""
    return _HARMFUL.sub(lambda match: _written_out(match[0]), text)


def one_line(text: str) -> str:
    """*text* harmless, and on one line."""
    return harmless(" ".join(text.split()))


def harmless_json(document: object) -> str:
    """*document* as JSON, non-ASCII as it is but for what could steer a terminal; it reads as the same."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    return _HARMFUL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _written_out(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004 - two hex digits hold it
