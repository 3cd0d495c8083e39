"""Secrets in free text: find, mask or remove keys, tokens, passwords and card numbers.

The patterns follow the formats that the issuers document. Passwords have no format: the words around them count.
Secrets in settings are known by their keys instead; see `memgraph._validation`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

VISIBLE_CHARS = 4
"""Characters of a secret that stay visible when it is masked, so that its owner can identify it."""

PATTERNS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "a private key": re.compile(
            r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,30}-----|\Z)"
        ),
        "an API key of OpenAI or Anthropic": re.compile(r"\bsk-[A-Za-z0-9_-]{16,200}"),
        "an AWS access key": re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
        "a GitHub token": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{30,250}|github_pat_[A-Za-z0-9_]{30,250})"),
        "a GitLab token": re.compile(r"\bglpat-[A-Za-z0-9_-]{18,60}"),
        "a Slack token": re.compile(r"\bxox[abeprs]-[A-Za-z0-9-]{10,250}"),
        "a Google API key": re.compile(r"\bAIza[A-Za-z0-9_-]{35}"),
        "a Stripe key": re.compile(r"\b[rs]k_live_[A-Za-z0-9]{16,120}"),
        "a Hugging Face token": re.compile(r"\bhf_[A-Za-z0-9]{30,60}"),
        "a JSON Web Token": re.compile(r"\beyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{5,1000}"),
        "a password in an address": re.compile(r"(?<=://)[^\s/:@]{1,100}:[^\s/@]{1,200}(?=@)"),
        "a password": re.compile(
            r"(?:(?<=password )|(?<=passwort )|(?<=passphrase )|(?<=\bpin )|(?<=passcode ))(?:is|ist|was|:|=)\s*"
            r"[\"'“”]?(?P<secret>(?!(?:not|never|always|too|very|the|a|an|in|on|at|stored|kept|weak|strong|required)\b)"
            r"\S{4,100})"
            r"|(?:password|passphrase|passcode|api[ _-]?key|secret[ _-]?key|access[ _-]?token)s?\s*[:=]\s*"
            r"[\"'“”]?(?P<named>\S{4,200})"
            r"|(?:密码|口令|密钥)\s*(?:是|为|：|:|=)\s*[\"'“”]?(?P<han>[^\s，。；,;“”]{4,100})",
            re.IGNORECASE,
        ),
    }
)
"""The pattern of each kind of secret. In a group, only that group is secret."""

_CARD = re.compile(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])")


class Secret(NamedTuple):
    """A secret and its position in a text."""

    kind: str
    """A noun phrase such as "an AWS access key"."""
    start: int
    end: int


def find_secrets(text: str) -> Iterator[Secret]:
    """Yield the secrets in *text*, by kind; they may overlap."""
    for kind, pattern in PATTERNS.items():
        for match in pattern.finditer(text):
            groups = [name for name, value in match.groupdict().items() if value]
            start, end = match.span(groups[0]) if groups else match.span()
            yield Secret(kind, start, end)
    for match in _CARD.finditer(text):
        if _is_card_number(match[0]):
            yield Secret("a card number", match.start(), match.end())


def mask(text: str) -> str:
    """Return *text* with each secret replaced by its first four characters, if it is long enough, and `***`."""
    return _replace_secrets(
        text, lambda secret: f"{secret[:VISIBLE_CHARS] if len(secret) > 2 * VISIBLE_CHARS else ''}***"
    )


def redact(text: str) -> str:
    """Return *text* with each secret replaced by `[removed]`."""
    return _replace_secrets(text, lambda _: "[removed]")


def _replace_secrets(text: str, replace: Callable[[str], str]) -> str:
    spans = sorted((start, end) for _, start, end in find_secrets(text))
    parts, position = list[str](), 0
    for start, end in spans:
        if end <= position:
            continue
        if start >= position:  # or it overlaps the one before, which already has its replacement
            parts += [text[position:start], replace(text[start:end])]
        position = end
    return "".join([*parts, text[position:]])


def _is_card_number(text: str) -> bool:
    """Whether *text* starts like a card number, has a valid check digit and is not one repeated digit.

    Source:
        Luhn, US patent 2,950,048, 1960.
    """
    digits = [int(character) for character in text if character.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return digits[0] in {3, 4, 5, 6} and len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
