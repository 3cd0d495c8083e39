"""What secrets look like, and a text without them.

The shapes are those that issuers document; what is said of a password is told by the words around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

VISIBLE = 4
"""Characters of a secret that are shown, so that its owner knows which it is."""

SHAPES: Mapping[str, re.Pattern[str]] = MappingProxyType(
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
"""By what it is, how it looks."""

_CARD = re.compile(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])")


def find_secrets(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each secret of *text*: what it is, where it begins and ends."""
    for what, shape in SHAPES.items():
        for match in shape.finditer(text):
            named = [name for name, value in match.groupdict().items() if value]
            start, end = match.span(named[0]) if named else match.span()
            yield what, start, end
    for match in _CARD.finditer(text):
        if _is_card(match[0]):
            yield "a card number", match.start(), match.end()


def mask(text: str) -> str:
    """*text* with at most the first four characters of each secret."""
    return _without(text, lambda secret: f"{secret[:VISIBLE] if len(secret) > 2 * VISIBLE else ''}***")


def redact(text: str) -> str:
    """*text* without its secrets."""
    return _without(text, lambda _: "[removed]")


def _without(text: str, instead: Callable[[str], str]) -> str:
    spans = sorted((start, end) for _, start, end in find_secrets(text))
    parts, at = list[str](), 0
    for start, end in spans:
        if end <= at:
            continue
        parts += [text[at : max(at, start)], instead(text[start:end])] if start >= at else []
        at = max(at, end)
    return "".join([*parts, text[at:]])


def _is_card(text: str) -> bool:
    """Whether the digits end in the check digit that cards have, and are no run of one digit.

    Source:
        Luhn, US patent 2,950,048, 1960.
    """
    digits = [int(character) for character in text if character.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return digits[0] in {3, 4, 5, 6} and len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
