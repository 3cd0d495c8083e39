"""Secrets by their names: a word that means a secret, in any of eight languages, what separates it, and a value.

A value is taken for a password if it is quoted, has a digit, a sign or a capital letter inside, or is a single word at
the end of its clause that does not describe the password: "is swordfish." but not "is weak." or "is stored safely".
After a name of what is issued, such as a token, a value needs letters and digits. The words are in secret_words.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from memgraph.analysis.secret_kinds import NAME, VISIBLE_CHARS, SecretKind, WordList, alternation

# -- names and what follows them ---------------------------------------------------------------------

_CHOSEN = alternation("passwords")
_PHRASES = alternation("phrases")
_ISSUED = alternation("keys")
_ANY = rf"(?:{_CHOSEN}|{_ISSUED})"
_ANY_LISTS: tuple[WordList, ...] = ("passwords", "keys")
_SPOKEN_LISTS: tuple[WordList, ...] = ("passwords", "phrases")

_QUOTE = r"\\?[\"'`“‘「『]"
_SUFFIX = r"(?:[_-][A-Za-z\d]{1,12}){0,2}\\?[\"']?\]?\*{0,2}"
"""The rest of an identifier: `SECRET_KEY_BASE`, `password_1`."""
_SEPARATOR = (
    rf"(?:{_SUFFIX}(?:\s{{0,9}}(?:=>|->|→|:=|[:=：])\*{{0,2}}\s{{0,9}}|\s{{0,9}},?\s{{0,9}}{_QUOTE}?value\\?[\"']?\s{{0,9}}[:=]\s{{0,9}}"
    r"|[>(]|\s?\|\s?))"
)
"""Between a name and its value in a setting, JSON, YAML, XML, a call or a table."""
_OF = rf"(?: (?:{alternation('of')})\b[^.!?;:=\n]{{1,40}}?)?"
_IS = (
    rf"(?:\s{{0,9}}[:=]\s{{0,9}}|,?\s{{0,3}}(?:(?<=\s)(?:{alternation('is')}|{alternation('is_called')})|'s)\b"
    r"(?:\s[^\W\d_]{2,10}(?: to)?(?=\s))?\s{0,9}:?\s{0,9})"
)
"""Between a name and its value in a sentence; one word such as "now" may follow the verb."""
_IS_PLAIN = rf"(?:'s|\s(?:is|was|{alternation('is_called')})(?:\s(?:now|just|still))?\s)"
"""What may introduce a value that is a word: of the other verbs, an adjective follows as well."""
_COLON = rf"(?:\s(?:{alternation('is')}))?\s?[:=]\s?"
_IS_UNSPACED = rf"\s{{0,3}}(?:{alternation('is_unspaced')})\s{{0,3}}"

# -- values ------------------------------------------------------------------------------------------

_QUOTES = '"“”‘’「」『』`'
_NO_TAG = r"(?!</?[A-Za-z])"
"""Tags mark blocks that an application added to a message; masking one would make its end unknown."""
_QUOTED = rf"\\?[\"'“‘「『`](?P<secret>(?:{_NO_TAG}[^\n\\\"”’」』`]){{3,100}})\\?[\"'”’」』`]"
_LETTER = r"[^\W\d_]"
_END = r"[^\s.,;:!?)\]，。；：！？）" + _QUOTES + "]"
_ODD = (
    rf"['‘]?(?=(?:{_LETTER}|[.!,?'-]){{0,40}}(?:[\d@#$%^&*_+=~|]|[a-z][A-Z]|[!?][A-Za-z0-9]))"
    rf"(?P<secret>(?:{_NO_TAG}[^\s，。；！？{_QUOTES}]){{2,99}}{_NO_TAG}{_END})"
)
"""A value with a digit, a sign or a capital letter inside: no word of a sentence."""
_STRONG = (
    r"(?<![^\s'\"“‘(])(?=\S{0,40}[A-Za-z])(?=\S{0,40}\d)(?:(?=\S{1,40}[!@#$%^&*?+=~][^\s.,!?])|(?=\S{0,40}\d[A-Za-z]+\d))"
    rf"(?P<secret>(?:{_NO_TAG}[^\s{_QUOTES}]){{7,99}}{_NO_TAG}{_END})"
)
"""A value that looks like a password whatever the grammar around it."""
_ARGUMENT = rf"{_QUOTE}?(?P<secret>(?:{_NO_TAG}[^\s\"'`|;<>-])(?:{_NO_TAG}[^\s\"'`]){{3,200}})"
_DESCRIPTIONS = "|".join(alternation("descriptions").replace("|", " ").split())
_PLAIN = (
    rf"(?P<secret>(?!(?:correct|{_DESCRIPTIONS})(?![\w-]))(?![a-z-]{{0,30}}(?:ed|ing|ly|ble|ful|less|ive|ous)\b)"
    r"[A-Za-z-]{4,40}+)(?=[^\S\n]*(?:[.,;!)](?!\w)|[\n，。]|\Z"
    r"|(?:and|but|so|for|on|at|btw|by the way|please|if|in case)\b))"
)
"""A single word as the password, at the end of its clause: not an adjective, as in "my password is weak"."""
_PHRASE = rf"(?P<secret>(?!(?:{_DESCRIPTIONS})\b){_LETTER}[\w'-]{{1,30}}(?:[ -]{{1,2}}[\w'-]{{1,30}}){{2,24}})"
_ASCII = rf"[\"“”「『'‘]?(?P<secret>(?:{_NO_TAG}[!#-&(-+\--~]){{3,99}}(?<![.,;:!?)]))"
_NO_HAN = r"(?!我|你|他|她|它|这|那|什么|啥|多少|不|没|很|太|在|由|用|一个|个|忘|错|对的|正确|必须|需要|谁|哪|怎)"

_PLACEHOLDER = re.compile(
    r"\$\{|\$\(|\$[A-Z_]{3,}\b|\{\{|[<%]|[A-Za-z_][\w.]{0,60}[(\[]|(?:null|none|true|false|string|str|text)\b[,;)}\]]?"
    r"|https?://|(?:\.{0,2}|~)/|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]{1,64}\Z|\d{1,9}%\Z|\d{1,9}-[a-z]{1,30}\Z|([\W_x])\1{0,100}\Z"
    rf"|{NAME}\Z|(?=[a-z.]{{0,30}}[_.])(?=[a-z_.]{{0,60}}{NAME})[a-z_.]{{2,60}}\Z|[a-z_]{{2,40}}=[\d.]{{1,20}},?\Z",
    re.IGNORECASE,
)
"""A variable, a call, a type, an address, an amount or a blank form: what stands for a value, or is not secret.

A variable is also what has the name of a secret in its own, as `password_input`; and `top_k=40` sets another one."""
_DATED = re.compile(r"v?\d{1,9}(?:\.\d{1,9}){1,3}|(?:19|20)\d\d-\d\d|\d\d?:\d\d")


def _is_value(text: str) -> bool:
    return not _PLACEHOLDER.match(text)


def _is_mixed(text: str) -> bool:
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text)) and _is_value(text) and not _DATED.match(text)


def _is_argument(text: str) -> bool:
    return not text.replace(":", "").isdigit() and _is_value(text)


def _is_issued(text: str) -> bool:
    return len(text) >= VISIBLE_CHARS * 2 and _is_mixed(text)


# -- kinds -------------------------------------------------------------------------------------------


def _password(
    pattern: str,
    names: tuple[WordList, ...] = ("passwords",),
    is_valid: Callable[[str], bool] = _is_value,
    kind: str = "a password",
    visible: int = 0,
    *,
    is_after_name: bool = False,
) -> SecretKind:
    return SecretKind(kind, pattern, names, is_after_name, is_valid=is_valid, visible=visible)


_token = partial(_password, names=(), is_valid=_is_issued, kind="a token", visible=VISIBLE_CHARS)

_SPOKEN = rf"(?i:(?:{_CHOSEN}|{_PHRASES}){_OF}{_IS})"
_WRITTEN = rf"(?i:(?:{_CHOSEN}|{_PHRASES}){_SEPARATOR})"
_ISSUED_VALUE = rf"{_QUOTE}?(?P<secret>(?:{_NO_TAG}[^\s\"'`“”,;，；。&<]){{8,2048}})"

KINDS_BY_NAME: tuple[SecretKind, ...] = (
    _password(rf"(?:{_SPOKEN}|{_WRITTEN}){_QUOTED}", _SPOKEN_LISTS, is_after_name=True),
    _password(rf"(?:{_SPOKEN}|{_WRITTEN}){_ODD}", _SPOKEN_LISTS, is_after_name=True),
    _password(
        rf"(?i:(?:{_CHOSEN})(?:{_OF}{_IS_PLAIN}|{_SUFFIX}\s?[:=：]\*{{0,2}}[^\S\n]?){_PLAIN})", is_after_name=True
    ),
    _password(rf"(?i:(?:{_PHRASES}){_OF}(?:{_IS_PLAIN}|{_COLON}){_PHRASE})", ("phrases",), is_after_name=True),
    _password(
        rf"(?i:(?<![a-z])(?:{alternation('changed')})\b[^.!?\n]{{0,30}}{_ANY}\b[^.!?\n]{{0,30}}?"
        rf"\s(?:{alternation('changed_to')})\s){_ODD}",
        _ANY_LISTS,
    ),
    _password(rf"(?i:{_ANY})\s{{1,3}}{_ODD}", _ANY_LISTS, _is_mixed, is_after_name=True),
    _password(rf"(?i:{_ANY})[^.!?\n。]{{0,60}}?{_STRONG}", _ANY_LISTS, _is_mixed, is_after_name=True),
    _password(
        rf"(?<!\S){_ODD}[\"'”’.!?]{{0,3}}(?i:\s(?:{alternation('as')})\s(?:[^\W\d_]{{1,20}}\s){{0,4}}(?:{_CHOSEN}))"
    ),
    _password(rf"(?i:{_CHOSEN})[^\s，。；！？,.!?:：=是为為は]{{0,8}}{_IS_UNSPACED}{_ASCII}", is_after_name=True),
    _password(rf"(?:密码|密碼)\s{{0,3}}{_ASCII}", is_valid=_is_mixed, is_after_name=True),
    _password(
        rf"(?:{_PHRASES})(?:{_IS_UNSPACED}|\s?[:：=]\s?)[“「『\"]?(?P<secret>{_NO_HAN}[^\s，。；！？“”「」『』\"<]{{2,80}})",
        ("phrases",),
        is_after_name=True,
    ),
    _password(
        rf"(?<![!-~]){_ODD}[”」』\"']?\s{{0,3}}(?:就?是|当|當|做|作为?|が|を)\s?(?:我|我们|咱|他|她|家)?[^\s，。！？]{{0,8}}"
        r"(?:密码|密碼|パスワード)"
    ),
    # a name and its password as a pair
    _password(rf"(?i:{_ANY}){_SEPARATOR}[^\s/:]{{1,60}} ?[/:|] ?{_ODD}", _ANY_LISTS, _is_mixed, is_after_name=True),
    _password(rf"(?:PASSWO?R?D|PWD)[A-Z\d_]{{0,30}}={_ARGUMENT}", ()),
    # flags: of any name, and the short ones beside a user or after a client that takes no other -p
    _password(rf"(?<!\S)--?[\w-]{{0,30}}(?i:{_ANY})[ =]{_ARGUMENT}", _ANY_LISTS),
    _password(
        rf"(?:(?<=\s)(?:-u|-U|--user(?:name)?)[ =]?[^\s-]\S{{0,60}}[^\n]{{0,60}}?"
        r"|sshpass|redis-cli[^\n]{0,60}?) -[pwa] ?"
        rf"{_ARGUMENT}",
        (),
        _is_argument,
    ),
    _password(
        rf"(?:curl|wget|https?)\b[^\n]{{0,100}}?\s(?:-u|--user)[ =]?{_QUOTE}?[^\s:'\"]{{1,60}}:{_ARGUMENT}",
        (),
    ),
    _token(
        rf"(?i:{_ISSUED})(?:{_SEPARATOR}|(?i:{_OF}{_IS})|{_IS_UNSPACED}){_ISSUED_VALUE}",
        names=("keys",),
        is_after_name=True,
    ),
    _token(
        r"[?&;](?i:[\w.-]{0,30}(?:key|tok(?:en)?|secret|pass\w{0,4}|pwd|jwt)|(?:sig|[\w.-]{0,30}(?:signature|auth|session|sid)|code)(?==[^&\s]{16}))="
        r"(?P<secret>[^&\s#\"'<>]{6,2048})",
    ),
    _token(
        r"(?i:authorization)\\?[\"']?\s?[:=]\s?\\?[\"']?(?:[A-Za-z-]{1,20} )?(?P<secret>[^\s\"'\\]{6,4096})",
        is_valid=_is_value,
    ),
    _token(
        r"(?i:cookie)\\?[\"']?\s?:\s?\\?[\"']?(?P<secret>[^\s=;,:]{1,80}=[^\n\"']{4,4096})",
        is_valid=_is_value,
    ),
    SecretKind(
        "a PIN",
        (
            rf"(?i:(?:{alternation('codes')})(?:\s{{0,3}}[:=#]?\s{{0,3}}|{_OF}{_IS}|\s(?:{alternation('changed_to')})\s|码?[^\s，。；！？\d]{{0,8}}\s?))"
            r"[\"'“]?(?P<secret>\d{3,10}[A-Z]?|\d{1,4}[A-Z]\d+"
            r"|\d{1,3}(?:[ -]\d{1,3}){1,3})(?![\d%位个年月日次天文]|[.:-]\d)"
        ),
        ("codes",),
        is_after_name=True,
    ),
)
