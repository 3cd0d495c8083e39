"""Secrets by their shape: keys and tokens with a prefix or a cue word, numbers with check digits or a cue word.

Every pattern takes linear time: a run of characters is matched from its start only, or is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pydantic import TypeAdapter

from memgraph._yaml import read_packaged

WordList = Literal[
    "passwords", "phrases", "keys", "codes", "identities", "accounts", "phones",
    "of", "is", "is_called", "is_unspaced", "as", "changed", "changed_to", "descriptions",
]  # fmt: skip
"""A list of secret_words.yaml."""
_LISTS: Mapping[str, Mapping[str, str]] = TypeAdapter(dict[str, dict[str, str]]).validate_python(
    read_packaged("memgraph.analysis", "secret_words.yaml")
)


def alternation(name: WordList) -> str:
    """Return a pattern, without case, of the words in the list *name* in all languages."""
    return "|".join(_LISTS[name].values())


NAMES: tuple[WordList, ...] = ("passwords", "phrases", "keys", "codes")
"""The lists of what is secret."""
BEGINNINGS = {name: re.compile(rf"(?={alternation(name)})") for name in NAMES}
"""What matches, in the form of `lower`, where a word of a list in NAMES begins."""


def _literals(pattern: str) -> frozenset[str]:
    """Return the longest text that each alternative of *pattern* spells out: every match has one of them."""
    while (outer := re.sub(r"\([^()]*\)", "\0", pattern)) != pattern:
        pattern = outer
    alternatives = re.sub(r"\[[^]]*\]|.(?=\?)|\?", "\0", pattern).split("|")
    return frozenset(max(alternative.split("\0"), key=len) for alternative in alternatives)


LITERALS = {name: _literals(alternation(name)) for name in NAMES}
"""What a text with a word of a list in NAMES contains, in the form of `lower`: most texts have none of them."""


# -- kinds ------------------------------------------------------------------------------------------

VISIBLE_CHARS = 4
"""Characters of a key that stay visible when it is masked, so that its owner can identify it."""
CUE_CHARS = 48
"""Characters before a secret in which its cue is searched."""


@dataclass(frozen=True)
class SecretKind:
    """A kind of secret. Some kinds have several rows."""

    name: str
    """A noun phrase such as "an AWS access key"."""
    regex: str
    """If it has a group `secret`, only that is secret."""
    names: tuple[WordList, ...] = ()
    """Every text with such a secret contains a word of one of these lists of NAMES, if there are any."""
    is_after_name: bool = False
    """Whether each match begins with such a word."""
    cue: re.Pattern[str] | None = None
    """What must occur within CUE_CHARS before the match."""
    no_cue: re.Pattern[str] | None = None
    """What must not occur there."""
    is_valid: Callable[[str], bool] | None = None
    """What must hold of the secret."""
    visible: int = 0
    """Characters at its start that stay visible when it is masked."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled *regex*. To compile those of all kinds takes longer than a command: most texts need none."""
        return re.compile(self.regex)


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
    plain = re.sub("[ .-]", "", text)
    return 15 <= len(plain) <= 34 and int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1  # noqa: PLR2004


def _is_chinese_id(text: str) -> bool:
    """Return whether *text* has the check digit of a resident identity card.

    Source:
        GB 11643-1999; ISO/IEC 7064, MOD 11-2.
    """
    total = sum(digit * 2 ** (17 - place) for place, digit in enumerate(_digits(text[:17])))
    return text[17].upper() == "10X98765432"[total % 11]


def _is_cpf(text: str) -> bool:
    """Return whether *text* has the two check digits of a Brazilian CPF, modulo 11 each."""
    digits = _digits(text)
    sums = (sum(digit * (length + 1 - place) for place, digit in enumerate(digits[:length])) for length in (9, 10))
    return len(set(digits)) > 1 and [total * 10 % 11 % 10 for total in sums] == digits[9:]


def _is_dni(text: str) -> bool:
    """Return whether *text* has the check letter of a Spanish DNI or NIE, modulo 23."""
    number = text.upper().translate(str.maketrans("XYZ", "012", ".- "))[:8]
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == text[-1].upper()


def _is_nir(text: str) -> bool:
    """Return whether *text* has the check digits of a French social security number, modulo 97."""
    digits = "".join(map(str, _digits(text)))
    return 97 - int(digits[:13]) % 97 == int(digits[13:])


def _is_ean(text: str) -> bool:
    """Return whether *text* has the check digit of a Swiss AHV number, which is that of EAN-13."""
    digits = _digits(text)
    return (sum(digits[::2]) + 3 * sum(digits[1::2])) % 10 == 0


def _is_random(text: str) -> bool:
    """Return whether a part of *text* between separators looks drawn at random, unlike words and dates."""
    return any(_is_random_part(part) for part in _SEPARATORS.split(text))


def _is_random_part(part: str, longest_of_letters: float = 2.6) -> bool:
    """Return whether runs of one class are short: in words and dates they have about five characters.

    In base64 they have two, in [a-z0-9] 2.5.
    """
    pieces = _PIECES.findall(part)
    longest = 4.5 if any(map(str.isdigit, part)) else longest_of_letters
    return len(part) >= _MIN_PART and len(pieces) > 1 and len(part) < longest * len(pieces)


def _is_key(text: str) -> bool:
    """Return whether *text* is one prefix or several, and 18 or more random characters of three classes.

    After an underscore, as in `shpat_`, digits and letters of one case are enough. A long first part is random itself:
    the parts of a JSON Web Token and of a key of Discord stand for each other's prefix.
    """
    parts = _PARTS.findall(text)
    drawn = [place for place, (_, part) in enumerate(parts) if place and _is_random_part(part, 3.3)]
    if not drawn or _IS_PUBLIC.fullmatch(parts[0][1]) or _FILE_NAME.search(text):
        return False
    body = "".join(part for _, part in parts[drawn[0] :])
    random = "".join(parts[place][1] for place in drawn)
    if len(body) < _MIN_KEY or len(random) * 2 < len(body):
        return False
    return _has_cases(random) or any(
        separator == "_" and len(part) >= _MIN_PART_OF_ONE_CASE and any(map(str.isdigit, part))
        for separator, part in (parts[place] for place in drawn)
    )


def _has_cases(text: str) -> bool:
    return any(map(str.isupper, text)) and any(map(str.islower, text))


_SEPARATORS = re.compile(r"[-_/+=]+")
_PARTS = re.compile(r"([_.:~+/=-]*)([A-Za-z0-9]+)")
_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_FILE_NAME = re.compile(r"\.[a-z][a-z\d]{1,4}\Z|://")
_MIN_PART = 8
_MIN_KEY = 16
_MIN_PART_OF_ONE_CASE = 20


def _is_phone(text: str) -> bool:
    return 7 <= len(_digits(text)) <= 15 and not _DATE.match(text)  # noqa: PLR2004 - ITU-T E.164, and local numbers


def _is_document(text: str) -> bool:
    return len(_digits(text)) >= 4 and not _DATE.match(text)  # noqa: PLR2004


def _digits(text: str) -> list[int]:
    return [int(sign) for sign in text if sign.isdigit()]


_DATE = re.compile(
    r"[(（ ]{0,3}(?:(?:19|20)\d\d(?:([-./ ]?)(?:0?[1-9]|1[0-2])\1(?:0?[1-9]|[12]\d|3[01])|-(?:0[1-9]|1[0-2]))"
    r"|\d\d?([-./])\d\d?\2(?:19|20)\d\d)(?!\d)"
)

# -- keys and tokens --------------------------------------------------------------------------------

_PRIVATE_KEY = r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}-----|\Z)"
_CREDENTIAL = re.compile(
    rf"(?i:{alternation('passwords')}|{alternation('keys')}|key|auth|cookie|session|hook|aws)|口令|机密|キー"
)
NAME = rf"(?i:(?:my|your)?[_-]?(?:pass|{alternation('passwords')}|{alternation('keys')}))"
"""A name of secrets. Instead of a value it is a placeholder: `USER:PASSWORD`."""
_RECORDS = (
    r"sha-?\d{0,3}|md5|blake\w{0,3}|crc\d{0,2}|hash|checksum|digest|integrity|etag|fingerprint|commit|revision|rev|version"
    r"|build|pub(?:lic)?|isbn|order|tracking|invoice|serial|ticket|ref(?:erence)?"
)
"""Names of what identifies a thing and opens none: hashes, and the numbers of records."""
_IS_PUBLIC = re.compile(
    rf"(?i:{_RECORDS}|u?u?id|user|customer|msg|message|call|thread|run|req(?:uest)?|evt|event|file|image|img|photo|video"
    r"|backup|cache|chunk|trace|span)"
)
_AFTER = r"(?: (?:number|key|id|no|nr|is|was)){0,2}[\"']?[ :#=.-]{0,3}[\"']?\Z"
_RECORD_BEFORE = re.compile(rf"(?i:(?<![a-z])(?:{_RECORDS})){_AFTER}")
_PUBLIC = re.compile(rf"(?i:(?<![a-z])(?:{_RECORDS}|u?u?id)|ssh-\w{{2,9}}){_AFTER}")


def _key(pattern: str, cue: re.Pattern[str] | None = None, is_valid: Callable[[str], bool] | None = None) -> SecretKind:
    """Return a kind that is known by its shape; its first characters stay visible."""
    return SecretKind("a token", pattern, cue=cue, no_cue=_PUBLIC, is_valid=is_valid, visible=VISIBLE_CHARS)


_KEYS = (
    SecretKind("a private key", _PRIVATE_KEY),
    SecretKind(
        "a password in an address",
        rf"(?<=://)[^\s/:@]{{0,100}}+:(?!{NAME}@)(?P<secret>[^\s/<]{{1,200}})(?=@[\w.\[-])",
    ),
    _key(r"(?<=://)[A-Za-z0-9_.~+-]{20,400}(?=@[\w.\[-])", is_valid=_is_random),  # a token as the user of an address
    SecretKind("a password hash", r"\$[a-z\d-]{1,12}\$[A-Za-z\d$./+=,]{20,200}"),
    _key(
        # at the start of a word, or as the value of a variable: what an address has after = is seldom a key
        r"(?:(?<![^\s\"'`;,({\[])[A-Za-z_]\w{0,60}=|(?<![A-Za-z0-9_.~:/@%=-]))"
        r"(?P<secret>[A-Za-z0-9]{1,400}[_.:~-][A-Za-z0-9_.:~+/-]{17,}[A-Za-z0-9_+/-]={0,2})",
        is_valid=_is_key,
    ),
    # 256 or 512 bits in base64, and keys of 128 bits or more with a prefix and no separator
    _key(r"(?<![A-Za-z0-9+/=_-])(?:[A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{86}==)(?![A-Za-z0-9+/=])", is_valid=_is_random),
    _key(r"(?<![A-Za-z0-9])[A-Za-z]{1,8}[A-Zg-z][0-9a-f]{32}(?![A-Za-z0-9])"),
    # groups of digits and capital letters in a mixture, as those of a licence
    _key(
        r"(?<![A-Za-z\d-])(?=(?:[A-Z\d-]{0,15}?(?:\d[A-Z]|[A-Z]\d)){4})(?:[A-Z\d]{4,6}-){3,7}[A-Z\d]{4,6}(?![A-Za-z\d-])"
    ),
    # the only issuers in the list: their keys have neither a separator nor a name, and one is shorter than a VIN
    _key(r"(?<![A-Za-z0-9])(?:(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])|AIza[A-Za-z0-9_-]{35})"),
    _key(r"(?i:hooks?)[\w.]{0,40}/(?:[a-z]{2,20}/)?(?P<secret>[A-Za-z0-9_/-]{20,200})", is_valid=_is_random),
    _key(
        r"(?<![A-Za-z0-9+/_-])(?![\da-fA-F]{8}-[\da-fA-F]{4}-)[A-Za-z0-9+/_-]{20,4096}+={0,2}(?![A-Za-z0-9]|\.[a-z]{2,4}\b)",
        _CREDENTIAL,
        _is_random,
    ),
)

# -- numbers of people ------------------------------------------------------------------------------

_HEX = "[0-9a-fA-F]{8}"
"""Next to digits in a hash, which may have the check digit of a card by chance."""
_IDENTITY_WORD = re.compile(f"(?i:{alternation('identities')})")
_ACCOUNT_WORD = re.compile(f"(?i:{alternation('accounts')})")
_PHONE_WORD = re.compile(rf"(?i:{alternation('phones')})[^\d]{{0,30}}\Z")


def _identity(
    pattern: str, is_valid: Callable[[str], bool] | None = None, cue: re.Pattern[str] | None = None
) -> SecretKind:
    number = rf"(?<![A-Za-z\d.-])(?:{pattern})(?![A-Za-z\d]|[.-]\d)"
    return SecretKind("an identity number", number, cue=cue, no_cue=_RECORD_BEFORE, is_valid=is_valid)


_NUMBERS = (
    SecretKind(
        "an IBAN",
        r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ .-]?[A-Za-z0-9]{4}){2,7}(?:[ .-]?[A-Za-z0-9]{1,3})?(?![A-Za-z0-9])",
        is_valid=_is_iban,
        visible=VISIBLE_CHARS,
    ),
    # United States, United Kingdom, Korea, China, Brazil, Spain, France, Switzerland, Italy
    _identity(r"(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}"),
    _identity(r"[A-CEGHJ-PR-TW-Z]{2} ?\d\d ?\d\d ?\d\d ?[A-D]"),
    _identity(r"\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])-[1-8]\d{6}"),
    _identity(
        r"[1-9]\d{5}(?:18|19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx]", is_valid=_is_chinese_id
    ),
    _identity(r"\d{3}\.?\d{3}\.?\d{3}-?\d{2}", _is_cpf),
    _identity(r"(?:\d{2}\.?|[XYZ]-?\d)\d{3}\.?\d{3}[ -]?[A-Z]", _is_dni),
    _identity(r"[12] ?\d\d ?(?:0[1-9]|1[0-2]) ?\d\d ?\d{3} ?\d{3} ?\d\d", _is_nir),
    _identity(r"756\.?\d{4}\.?\d{4}\.?\d\d", _is_ean),
    _identity(r"(?i:[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z])"),
    # a number with a typing error is as good as the number
    _identity(r"(?=[A-Z ./-]{0,8}\d)[A-Z\d](?:[ ./-]?[A-Z\d]){5,20}", _is_document, _IDENTITY_WORD),
    SecretKind(
        "a card number",
        rf"(?<!{_HEX})(?<!\d)(?<!\d\.)\d(?:[ .-]?\d){{12,18}}(?!\.?\d|{_HEX})",
        no_cue=_RECORD_BEFORE,
        is_valid=_is_card_number,
        visible=VISIBLE_CHARS,
    ),
    SecretKind("a card number", r"(?<![\d.-])\d(?:[ -]?\d){9,18}(?![\d.-]\d|\d)", cue=_ACCOUNT_WORD),
    SecretKind(
        "a phone number",
        (
            r"(?<![A-Za-z0-9+.])\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){1,4}(?![A-Za-z0-9-])"
            r"|(?<![A-Za-z0-9.+-])(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![A-Za-z0-9-])"
            r"|(?<![A-Za-z0-9.+-])1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?![A-Za-z0-9])"
        ),
        is_valid=_is_phone,
    ),
    SecretKind(
        "a phone number",
        r"(?<![A-Za-z0-9.+-])[+(]?\d(?:[ ().-]{0,2}\d){6,14}(?![A-Za-z0-9])",
        cue=_PHONE_WORD,
        is_valid=_is_phone,
    ),
)

_HAS_NUMBER = re.compile(r"\d(?:(?:[A-Z ()./-]{0,40}|[^\W\d])\d){3}|[A-Za-z]{2}\d{2}[ .-]?[A-Za-z\d]{4}")
"""Four digits, separated as in a number of the kinds above, or the beginning of an IBAN."""
KINDS_OF_SHAPE = ((re.compile(r"\S{16}|://|-----"), _KEYS), (_HAS_NUMBER, _NUMBERS))
"""Kinds of secrets, behind what a text with one of them has: most texts have neither."""
