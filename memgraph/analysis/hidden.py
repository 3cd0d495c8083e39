r"""Hidden characters: what a person does not see in a text but a model reads. The one table of them, and its uses.

They carry instructions past a reviewer, reverse text, or split words that a filter looks for. What languages and emoji
need stays: a joiner between emoji or after a letter of a joining script, a variation selector of an emoji, the three
subdivision flags, and the vowel and variant signs of Mongolian.

Source:
    Unicode Standard, section 5.21, "Default Ignorable Code Points"; Unicode Technical Standard 51, "Unicode Emoji",
    section 1.4; RFC 5892, appendix A.1 and A.2, for joiners.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

JOINERS = r"\u200c\u200d"
VARIATION_SELECTORS = r"\ufe00-\ufe0f"
BLANKS = r"\u115f\u1160\u2800\u3164\uffa0"
"""They have the width of a space, so a space replaces them."""

HIDDEN: Mapping[str, str] = MappingProxyType(
    {
        "control characters": r"\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f",
        "bidirectional controls": r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069",
        "zero-width characters": r"\u200b\u2060-\u2065\u206a-\u206f\ufeff",
        "joiners": JOINERS,
        "soft hyphens and grapheme joiners": r"\u00ad\u034f",
        "blank letters": BLANKS,
        "signs without a glyph": r"\u17b4\u17b5\u180b-\u180f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a",
        "variation selectors": VARIATION_SELECTORS + r"\U000e0100-\U000e01ef",
        "tags": r"\U000e0000-\U000e00ff\U000e01f0-\U000e0fff",
        "specials": r"\ufff0-\ufffc\ufffe\uffff",
    }
)
"""The characters of each group, for use inside a character class. Line breaks are not hidden."""

_ALL = "".join(HIDDEN.values())
_EMOJI = (
    r"\xa9\xae\u203c\u2049\u20e3\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f"
    r"\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
# Arabic to N'Ko, Syriac and Arabic extensions; Devanagari to Sinhala; Tibetan, Myanmar, Khmer, Mongolian, and the
# presentation forms of Arabic
_JOINING = (
    r"\u0600-\u061b\u061d-\u07ff\u0840-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u17ff\u1820-\u18af"
    r"\ua8e0-\ua8ff\ufb50-\ufdff\ufe70-\ufefc"
)
_FLAGS = "|".join(
    "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f" for region in ("gbeng", "gbsct", "gbwls")
)
_NEEDED = (
    rf"(?<=\U0001f3f4)(?:{_FLAGS})"
    rf"|[{_EMOJI}][\ufe0e\ufe0f]?(?:\u200d[{_EMOJI}][\ufe0e\ufe0f]?)*+"
    r"|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    rf"|(?<=[{_JOINING}])[{JOINERS}](?![{JOINERS}])"
    r"|(?<=[\u1820-\u18aa])[\u180b-\u180f](?![\u180b-\u180f])"
)
MAY_BE_HIDDEN = re.compile(f"[{_ALL}]")
"""A character that is hidden unless a language or an emoji needs it: most texts have none."""
_HIDDEN = re.compile(f"{_NEEDED}|(?P<blank>[{BLANKS}])|(?P<hidden>[{_ALL}])")
# a terminal moves its cursor at these; \n alone begins a line, and a lone surrogate cannot be printed
_UNPRINTABLE = r"\r\x0b\x0c\x85\u2028\u2029\ud800-\udfff"
_MAY_BE_UNSEEN = re.compile(f"[{_ALL}{_UNPRINTABLE}]")
_UNSEEN = re.compile(f"{_NEEDED}|(?P<unseen>[{_ALL}{_UNPRINTABLE}])")


def hidden_characters(text: str) -> tuple[str, ...]:
    """Return the different hidden characters of *text* as `U+202E`, in the order in which they first occur."""
    if not MAY_BE_HIDDEN.search(text):
        return ()
    found = (match["blank"] or match["hidden"] for match in _HIDDEN.finditer(text))
    return tuple(dict.fromkeys(_code(character) for character in found if character))


def remove_hidden(text: str) -> str:
    """Return *text* without its hidden characters; those that look like a space become one."""
    if not MAY_BE_HIDDEN.search(text):
        return text
    return _HIDDEN.sub(lambda match: " " if match["blank"] else "" if match["hidden"] else match[0], text)


def show_hidden(text: str) -> str:
    r"""Return *text* with each hidden character visible, as `<U+202E>`.

    So are the line separators other than `\n` and lone surrogates: the result is safe to print at a terminal.
    """
    return _replace_unseen(text, lambda character: f"<{_code(character)}>")


def split_shown(text: str) -> tuple[str, str]:
    """Return the part of a streamed *text* that can be shown already, and the rest: what follows may belong to it."""
    for cut in range(len(text) - 1, 0, -1):
        if not MAY_BE_HIDDEN.search(text[cut - 1 : cut + 1]):
            return text[:cut], text[cut:]
    return "", text


def escape_hidden(document: str) -> str:
    r"""Return a JSON *document* in which what `show_hidden` shows is escaped as `\u202e`: its value stays the same."""
    return _replace_unseen(document, lambda character: json.dumps(character)[1:-1])


def _replace_unseen(text: str, replace: Callable[[str], str]) -> str:
    if not _MAY_BE_UNSEEN.search(text):
        return text
    return _UNSEEN.sub(lambda match: replace(match["unseen"]) if match["unseen"] else match[0], text)


def _code(character: str) -> str:
    return f"U+{ord(character):04X}"
