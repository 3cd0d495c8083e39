"""Secrets that have a shape: keys and tokens as their issuers document them, numbers with check digits or cue words.

Every pattern takes linear time: a run of characters is matched from its start only, or is bounded. Most texts have
none of the hints, so most patterns are not searched.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

VISIBLE_CHARS = 4
"""Characters of a key that stay visible when it is masked, so that its owner can identify it."""
CUE_CHARS = 48
"""Characters before a secret in which its cue is searched."""


@dataclass(frozen=True, eq=False, slots=True)
class Hint:
    """What every text with some kinds of secrets has in it, in the form of `lower`: one of some words, or a shape.

    Most texts have no hint, and a word is found much faster than a pattern.
    """

    words: tuple[str, ...] = ()
    shape: re.Pattern[str] | None = None

    def is_in(self, lowered: str) -> bool:
        """Return whether *lowered*, a text in the form of `lower`, has it."""
        return any(word in lowered for word in self.words) or bool(self.shape and self.shape.search(lowered))


class SecretKind(NamedTuple):
    """A kind of secret. Some kinds have several rows."""

    name: str
    """A noun phrase such as "an AWS access key"."""
    hint: Hint
    """What every text with such a secret has in it: one search that saves those of all kinds with this hint."""
    pattern: re.Pattern[str]
    """If it has a group `secret`, only that is secret."""
    cue: re.Pattern[str] | None = None
    """What must occur within CUE_CHARS before the match."""
    is_valid: Callable[[str], bool] | None = None
    """What must hold of the secret."""
    visible: int = 0
    """Characters at its start that stay visible when it is masked."""


# -- hints -------------------------------------------------------------------------------------------

_RUN = Hint(shape=re.compile(r"[a-z\d+/_~.%-]{13}"))
_BEGIN = Hint(("-----begin",))
_ADDRESS = Hint(("://",))
_NAME_OF_TOKEN = Hint(("key", "token", "secret", "密钥", "秘钥", "令牌", "凭证"))
_DIGITS = Hint(shape=re.compile(r"\d(?:[ ().-]{0,2}\d){6}"))
_DIGITS_AND_LETTERS = Hint(shape=re.compile(r"\d\d(?: ?[a-z\d]{4}){2}"))
_PASSPORT = Hint(("passport", "护照", "護照"))
PASSWORD_HINT = Hint(("pass", "pwd", "phrase", "words", "wifi", "wi-fi", "密码", "密碼"))
HAN_PHRASE_HINT = Hint(("口令", "暗号", "暗號", "暗语", "密语", "助记词"))
CODE_HINT = Hint(("pin", "code", "cvv", "cvc", "otp", "码", "碼"))


def _key(name: str, *shapes: str) -> SecretKind:
    """Return a kind that is known by its shape; its first characters name the issuer, and stay visible."""
    pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(shapes)})")
    return SecretKind(name, _RUN, pattern, visible=VISIBLE_CHARS)


# -- check digits and shapes -----------------------------------------------------------------------


def _is_card_number(text: str) -> bool:
    """Return whether *text* has the first digit, the length and the check digit of a card number.

    Source:
        ISO/IEC 7812-1; Luhn, US patent 2,950,048, 1960.
    """
    digits = _digits(text)
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    is_issued = len(set(digits)) > 1 and len(digits) in _CARD_LENGTHS.get(digits[0], ())
    return is_issued and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


_CARD_LENGTHS = {2: (16,), 3: (14, 15, 16), 4: (13, 16, 19), 5: (16,), 6: (16, 17, 18, 19)}


def _is_iban(text: str) -> bool:
    """Return whether *text* has the length and the check digits of an IBAN.

    Source:
        ISO 13616-1; ISO/IEC 7064, MOD 97-10.
    """
    plain = text.replace(" ", "")
    return 15 <= len(plain) <= 34 and int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1  # noqa: PLR2004


def _is_chinese_id(text: str) -> bool:
    """Return whether *text* has the check digit of a resident identity card.

    Source:
        GB 11643-1999; ISO/IEC 7064, MOD 11-2.
    """
    total = sum(digit * 2 ** (17 - place) for place, digit in enumerate(_digits(text[:17])))
    return text[17].upper() == "10X98765432"[total % 11]


def _is_random(text: str) -> bool:
    """Return whether a part of *text* between separators looks drawn at random, unlike words and dates."""
    return any(_is_random_part(part) for part in _SEPARATORS.split(text) if len(part) >= _MIN_PART)


def _is_random_part(part: str) -> bool:
    pieces = _PIECES.findall(part)
    longest = _MEAN_PIECE if any(map(str.isdigit, part)) else _MEAN_PIECE_OF_LETTERS
    return len(pieces) > 1 and len(part) < longest * len(pieces)


_SEPARATORS = re.compile(r"[-_/+=]+")
_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_MIN_PART = 8
# words of identifiers and dates have about five characters; runs of one class in base64 have two, in [a-z0-9] 2.5
_MEAN_PIECE = 4.5
_MEAN_PIECE_OF_LETTERS = 2.6


def _has_all_classes(text: str) -> bool:
    return all(any(map(test, text)) for test in (str.isdigit, str.isupper, str.islower))


def _is_phone(text: str) -> bool:
    return 7 <= len(_digits(text)) <= 15 and not _DATE.match(text)  # noqa: PLR2004 - ITU-T E.164, and local numbers


def _is_document(text: str) -> bool:
    return len(_digits(text)) >= 4 and not _DATE.match(text)  # noqa: PLR2004


def _digits(text: str) -> list[int]:
    return [int(sign) for sign in text if sign.isdigit()]


_DATE = re.compile(r"(?:19|20)\d\d([-./ ]?)(?:0?[1-9]|1[0-2])\1(?:0?[1-9]|[12]\d|3[01])(?!\d)")

# -- keys and tokens, known by their shape ---------------------------------------------------------

_PRIVATE_KEY = r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}-----|\Z)"
_CREDENTIAL = re.compile(
    r"(?i:token|api|key|secret|credential|auth|bearer|cookie|session|password)|密钥|秘钥|私钥|令牌|凭证|凭据|口令|密码"
)
_AWS = re.compile(r"(?i:aws|amazon|secret|access[ _-]?key)|亚马逊|密钥|秘钥")

_KEYS = (
    SecretKind("a private key", _BEGIN, re.compile(_PRIVATE_KEY)),
    _key("an API key of OpenAI or Anthropic", r"sk-(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{16,200}"),
    _key("an AWS access key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    SecretKind(
        "an AWS secret access key",
        _RUN,
        re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"),
        cue=_AWS,
        is_valid=_has_all_classes,
        visible=VISIBLE_CHARS,
    ),
    _key("a GitHub token", r"gh[pousr]_[A-Za-z0-9]{30,250}", r"github_pat_[A-Za-z0-9_]{30,250}"),
    _key("a GitLab token", r"gl(?:pat|ptt|rt|dt|cbt|ft|soat|imt|agent|oas)-[A-Za-z0-9_-]{18,70}"),
    _key(
        "a Slack token",
        r"xox[abeoprs]-[A-Za-z0-9-]{10,250}",
        r"xapp-\d-[A-Za-z0-9-]{10,250}",
        r"(?:(?<=hooks\.slack\.com/services/)|(?<=hooks\.slack\.com/workflows/)|(?<=hooks\.slack\.com/triggers/))[A-Za-z0-9/_-]{16,200}",
    ),
    _key(
        "a Google API key",
        r"AIza[A-Za-z0-9_-]{35}",
        r"GOCSPX-[A-Za-z0-9_-]{20,60}",
        r"ya29\.[A-Za-z0-9_-]{20,400}",
        r"1//0[A-Za-z0-9_-]{30,200}",
    ),
    _key("a Stripe key", r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,250}", r"whsec_[A-Za-z0-9+/]{24,100}"),
    _key("a Hugging Face token", r"hf_[A-Za-z0-9]{30,60}", r"api_org_[A-Za-z0-9]{30,60}"),
    _key("an npm token", r"npm_[A-Za-z0-9]{30,60}"),
    _key("a PyPI token", r"pypi-(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{40,400}"),
    _key("a SendGrid key", r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    _key("a Telegram token", r"\d{8,10}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    SecretKind(
        "a Discord token",
        _RUN,
        re.compile(
            r"(?<![A-Za-z0-9_.-])[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,45}(?![A-Za-z0-9_-])"
            r"|(?<=/api/webhooks/)\d{15,22}/[A-Za-z0-9_-]{50,100}"
        ),
        visible=VISIBLE_CHARS,
    ),
    _key("a Twilio key", r"(?:SK|AC)[0-9a-f]{32}(?![A-Za-z0-9])"),
    SecretKind(
        "an Azure key",
        _RUN,
        re.compile(
            r"(?<=AccountKey=)[A-Za-z0-9+/]{40,100}={0,2}|(?<=SharedAccessKey=)[A-Za-z0-9+/]{40,100}={0,2}"
            r"|(?<=[?&]sig=)[A-Za-z0-9%+/]{30,120}={0,2}"
            r"|(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{86}==(?![A-Za-z0-9+/=])"
            r"|(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])"
        ),
        visible=VISIBLE_CHARS,
    ),
    SecretKind(
        "a JSON Web Token",
        _RUN,
        re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,2000}+\.[A-Za-z0-9_-]{10,8000}+\.[A-Za-z0-9_-]{5,1400}+"),
        visible=VISIBLE_CHARS,
    ),
    SecretKind(
        "a password in an address",
        _ADDRESS,
        re.compile(r"(?<=://)[^\s/:@]{0,100}+:(?P<secret>[^\s/<]{1,200})(?=@[\w.\[-])"),
    ),
    SecretKind(
        "a token",
        _RUN,
        re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{20,4096}+={0,2}(?![A-Za-z0-9])"),
        cue=_CREDENTIAL,
        is_valid=_is_random,
        visible=VISIBLE_CHARS,
    ),
    SecretKind(
        "a token",
        _NAME_OF_TOKEN,
        re.compile(
            r"(?:(?i:api[ _-]?key|secret[ _-]?key|client[ _-]?secret|private[ _-]?key|(?:access|auth)[ _-]?token"
            r"|_key|_token|_secret)s?[\"']?(?:\s*[:=]|\s+is)|(?:密钥|秘钥|令牌|凭证)(?:是|为|：|:|=))\s*[\"'“]?"
            r"(?P<secret>(?=[^\s\d]{0,60}\d)[^\s\"'“”,;，；。<]{8,512})"
        ),
        visible=VISIBLE_CHARS,
    ),
)

# -- numbers of people ------------------------------------------------------------------------------

_PHONE_WORD = re.compile(
    r"(?:(?i:(?<![a-z])(?:tele)?phone|(?<![a-z])(?:mobile|cell|whats ?app|(?:tel|fax)(?![a-z])|(?:call|text|reach) me))"
    r"|电话|電話|手机|手機|座机|联系方式)[^\d]{0,30}\Z"
)
_PASSPORT_WORD = re.compile(r"(?i:passport)|护照|護照")
_SSN_WORD = re.compile(r"(?i:(?<![a-z])ssn(?![a-z])|social security)")
_ID_WORD = re.compile(r"(?i:(?<![a-z])id card|identity card|national id)|身份证|身份證")
_CARD_WORD = re.compile(r"(?i:card number|account number|iban)|卡号|卡號|账号|帳號|账户|银行卡|信用卡")

_NUMBERS = (
    SecretKind(
        "an IBAN",
        _DIGITS_AND_LETTERS,
        re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])"),
        is_valid=_is_iban,
        visible=VISIBLE_CHARS,
    ),
    SecretKind(
        "a US social security number",
        _DIGITS,
        re.compile(r"(?<![\d-])(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![\d-])"),
    ),
    SecretKind("a US social security number", _DIGITS, re.compile(r"(?<!\d)\d{3} ?\d\d ?\d{4}(?!\d)"), cue=_SSN_WORD),
    SecretKind(
        "a Chinese identity card number",
        _DIGITS,
        re.compile(
            r"(?<![A-Za-z0-9])[1-9]\d{5}(?:18|19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx]"
            r"(?![A-Za-z0-9])"
        ),
        is_valid=_is_chinese_id,
    ),
    # a number with a typing error is as good as the number
    SecretKind(
        "a Chinese identity card number",
        _DIGITS,
        re.compile(r"(?<![A-Za-z0-9])[1-9]\d{16}[\dXx](?![A-Za-z0-9])"),
        cue=_ID_WORD,
    ),
    SecretKind(
        "a card number",
        _DIGITS,
        re.compile(r"(?<!\d)(?<!\d\.)\d(?:[ -]?\d){12,18}(?!\.?\d)"),
        is_valid=_is_card_number,
        visible=VISIBLE_CHARS,
    ),
    SecretKind("a card number", _DIGITS, re.compile(r"(?<![\d.-])\d(?:[ -]?\d){9,18}(?![\d.-]\d|\d)"), cue=_CARD_WORD),
    SecretKind(
        "a passport number",
        _PASSPORT,
        re.compile(r"(?<![A-Za-z0-9])(?=[A-Z]{0,8}\d)[A-Z0-9]{7,9}(?![A-Za-z0-9])"),
        cue=_PASSPORT_WORD,
        is_valid=_is_document,
    ),
    SecretKind(
        "a phone number",
        _DIGITS,
        re.compile(
            r"(?<![A-Za-z0-9+.])\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){1,4}(?![A-Za-z0-9-])"
            r"|(?<![A-Za-z0-9.+-])(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![A-Za-z0-9-])"
            r"|(?<![A-Za-z0-9.+-])1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?![A-Za-z0-9])"
        ),
        is_valid=_is_phone,
    ),
    SecretKind(
        "a phone number",
        _DIGITS,
        re.compile(r"(?<![A-Za-z0-9.+-])[+(]?\d(?:[ ().-]{0,2}\d){6,14}(?![A-Za-z0-9])"),
        cue=_PHONE_WORD,
        is_valid=_is_phone,
    ),
)

KINDS_OF_SHAPE: tuple[SecretKind, ...] = (*_KEYS, *_NUMBERS)
