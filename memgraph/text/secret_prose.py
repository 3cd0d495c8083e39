"""Passwords, passphrases and PINs in prose: they have no shape, so the words around them count.

A value is taken for a password if it is quoted, has a digit, a sign or a capital letter inside, or is a single word at
the end of its clause that does not describe the password: "is swordfish." but not "is weak." or "is stored safely".
"""

from __future__ import annotations

import re

from memgraph.text.secret_kinds import CODE_HINT, HAN_PHRASE_HINT, PASSWORD_HINT, SecretKind

_QUOTES = '"“”‘’「」『』`'
_WORD = r"pass ?(?:word|code)s?|passwd|pwd|passwort|wi-?fi (?:key|code)"
_WHOSE = r"(?: (?:for|to|of|on|at|in)\b[^.!?;:=\n]{1,40}?)?"
_IS = r"(?:\s*[:=]\s*|'s\s+|\s+(?:is|are|was|will be|ist)\b(?: (?:now|currently|still|just|set to)\b)?\s*+:?\s*+)"
_NO_TAG = r"(?!</?[A-Za-z])"
"""Tags mark blocks that an application added to a message; masking one would make its end unknown."""
_QUOTED = rf"[\"'“”‘「『`](?P<secret>(?:{_NO_TAG}[^\n\"”’」』`]){{3,100}})[\"'”’」』`]"
_END = r"[^\s.,;:!?)\]，。；：！？）" + _QUOTES + "]"
_ODD = (
    rf"['‘]?(?=[A-Za-z.!,?'-]{{0,40}}(?:[\d@#$%^&*_+=~|]|[a-z][A-Z]|[!?][A-Za-z0-9]))"
    rf"(?P<secret>(?:{_NO_TAG}[^\s，。；！？{_QUOTES}]){{2,99}}{_NO_TAG}{_END})"
)
"""A value with a digit, a sign or a capital letter inside: no word of a sentence."""
_DESCRIPTIONS = """
    a about actually also an another anything as at bad because better between blank broken compromised confidential
    critical crucial currently different difficult easier easy empty enough essential everything fine for
    forgotten from gone good great hard harder here hidden his her how important in incorrect insufficient invalid its
    kept known lazy long longer lost mandatory mine missing my necessary needed never new no not nothing ok okay old on
    one only optional our out outdated personal private public really required right safe safer same secret secure
    sent set short shorter simple simpler so something soon still stolen stored strong stronger sufficient super taken
    terrible that the their there these this those to too trivial unique unknown unsafe up useless valid very vital
    vulnerable weak weaker what when where which who why with without written wrong your yours
"""
_PLAIN = (
    rf"(?P<secret>(?!(?:correct|{'|'.join(_DESCRIPTIONS.split())})\b)(?![a-z]{{0,30}}(?:ed|ing|ly|ble|ful|less|ive|ous)\b)"
    r"[A-Za-z-]{4,40}+)(?=\s*(?:[.,;!)\n，。]|\Z|(?:and|but|so|for|on|at|btw|by the way|please|if|in case)\b))"
)
"""A single word as the password, at the end of its clause: not an adjective, as in "my password is weak"."""
_PHRASE_WORD = r"pass ?phrase|(?:seed|recovery|backup|mnemonic) (?:phrase|words)"
_PHRASE = (
    rf"(?P<secret>(?!(?:{'|'.join(_DESCRIPTIONS.split())})\b)"
    r"[A-Za-z][\w'-]{1,30}(?:[ -]{1,2}[\w'-]{1,30}){2,24})"
)


def _is_mixed(text: str) -> bool:
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text))


_CODE_WORD = (
    r"pin(?: code| number)?|(?:door|gate|alarm|access|entry|unlock|security|verification|safe|lock|voicemail"
    r"|one[- ]time) code|cvv|cvc|otp"
)

_HAN_WORD = r"(?:密码|密碼|(?i:wi-?fi|password|passcode|pwd))"
_HAN_IS = r"(?:就是|是|为|為|叫|[:：=]|(?:改|设|設|换|換|重置)(?:成了?|为|為|到)|设置(?:成了?|为)|设定为)"
_HAN_VALUE = rf"[\"“”「『'‘]?(?P<secret>(?:{_NO_TAG}[!#-&(-+\--~]){{3,99}}(?<![.,;:!?)]))"
_HAN_PHRASE_WORD = r"(?:口令|暗号|暗號|暗语|密语|助记词)"
_NO_HAN = r"(?!我|你|他|她|它|这|那|什么|啥|多少|不|没|很|太|在|由|用|一个|个|忘|错|对的|正确|必须|需要|谁|哪|怎)"

KINDS_IN_PROSE: tuple[SecretKind, ...] = (
    SecretKind(
        "a password", PASSWORD_HINT, re.compile(rf"(?i:(?<![a-z])(?:{_WORD}|{_PHRASE_WORD}){_WHOSE}{_IS}){_QUOTED}")
    ),
    SecretKind(
        "a password", PASSWORD_HINT, re.compile(rf"(?i:(?<![a-z])(?:{_WORD}|{_PHRASE_WORD}){_WHOSE}{_IS}){_ODD}")
    ),
    SecretKind("a password", PASSWORD_HINT, re.compile(rf"(?i:(?<![a-z])(?:{_WORD}){_WHOSE}{_IS}{_PLAIN})")),
    SecretKind("a password", PASSWORD_HINT, re.compile(rf"(?i:(?<![a-z])(?:{_PHRASE_WORD}){_WHOSE}{_IS}{_PHRASE})")),
    SecretKind(
        "a password",
        PASSWORD_HINT,
        re.compile(
            rf"(?i:(?<![a-z])(?:changed?|set|reset|updated?)\b[^.!?\n]{{0,30}}\b(?:{_WORD})\b[^.!?\n]{{0,30}}?\sto\s+){_ODD}"
        ),
    ),
    SecretKind("a password", PASSWORD_HINT, re.compile(rf"(?i:(?<![a-z])(?:{_WORD})\s+){_ODD}"), is_valid=_is_mixed),
    SecretKind(
        "a password",
        PASSWORD_HINT,
        re.compile(
            rf"(?<!\S){_ODD}[\"'”’.!?]{{0,3}}(?i:\s+(?:is|was|as)\s+(?:my|our|the|his|her|their|a)\s+(?:\w{{1,20}}\s){{0,3}}"
            rf"(?:{_WORD})\b)"
        ),
    ),
    SecretKind(
        "a password",
        PASSWORD_HINT,
        re.compile(rf"{_HAN_WORD}[^\s，。；！？,.!?:：=是为為]{{0,8}}\s*{_HAN_IS}\s*{_HAN_VALUE}"),
    ),
    SecretKind("a password", PASSWORD_HINT, re.compile(rf"(?:密码|密碼)\s*{_HAN_VALUE}"), is_valid=_is_mixed),
    SecretKind(
        "a password",
        HAN_PHRASE_HINT,
        re.compile(
            rf"{_HAN_PHRASE_WORD}\s*{_HAN_IS}\s*[“「『\"]?(?P<secret>{_NO_HAN}[^\s，。；！？“”「」『』\"<]{{2,80}})"
        ),
    ),
    SecretKind(
        "a password",
        PASSWORD_HINT,
        re.compile(
            rf"(?<![!-~]){_ODD}[”」』\"']?\s*(?:就?是|当|當|做|作为?)\s*(?:我|我们|咱|他|她|家)?[^\s，。！？]{{0,8}}(?:密码|密碼)"
        ),
    ),
    SecretKind(
        "a PIN",
        CODE_HINT,
        re.compile(
            rf"(?i:(?<![a-z])(?:{_CODE_WORD})(?:\s*+[:=#]?\s*+|{_WHOSE}{_IS}|\s+to\s+))[\"'“]?(?P<secret>\d{{3,10}})(?![\d%]|[.:]\d)"
        ),
    ),
    SecretKind(
        "a PIN",
        CODE_HINT,
        re.compile(
            r"(?:(?i:pin|cvv)\s*+码?|验证码|驗證碼|门禁码|取款码|解锁码|安全码|密码|密碼)[^\s，。；！？\d]{0,8}\s*+"
            r"(?P<secret>\d{3,10})(?![\d位个年月日次天])"
        ),
    ),
)
