"""Text normalisation: the forms in which text is compared, matched, stored and embedded, its words and their stems."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from typing import Protocol, cast

from memgraph._cache import word_cache
from memgraph.analysis.hidden import MAY_BE_HIDDEN, remove_hidden

HAN = r"\u3400-\u9fff"
"""Chinese characters, for use inside a character class."""
IS_HAN = re.compile(f"[{HAN}]")
KANA = re.compile("[\u3040-\u30ff]")
WORD = re.compile(rf"[{HAN}]|[^\W_{HAN}]+(?:'[^\W_{HAN}]+)*")
"""Matches a word of a folded text; each Chinese character is one."""
WORD_END = re.compile(rf"\s+|(?<=[{HAN}，、；：])|(?=[{HAN}])")
"""Matches where a line may end within a sentence."""

_SIMPLIFIED = str.maketrans(
    "對錯誤試來換種這樣個繼續確說給謝懂習慣歡傾討厭決選標夢準備計劃學畫業從愛請別總討論們應該為會採與實讓寫開發話號歲當點還沒麼錢醫師職稱妳聽見僅僱傳報檔圖頻張簡歷戶據關於樣員師單壞網專導讀語東",
    "对错误试来换种这样个继续确说给谢懂习惯欢倾讨厌决选标梦准备计划学画业从爱请别总讨论们应该为会采与实让写开发话号岁当点还没么钱医师职称你听见仅雇传报档图频张简历户据关于样员师单坏网专导读语东",
)
_ASCII = str.maketrans("’‘“”`´—–", "''\"\"''--")

_JOINER = "\u034f"
MAX_MARKS = 30
"""Combining marks in a row that are normalised together."""
# no mark is a letter or ASCII, but the half-width sound marks of katakana, letters themselves, decompose into marks
_MAYBE_MARKS = re.compile(rf"(?:[^\w\0-\x7f]|[\uff9e\uff9f]){{{MAX_MARKS + 1},}}")
_LATIN_THEN_HAN = re.compile(rf"(?<=[a-z0-9])(?=[{HAN}])|(?<=[{HAN}])(?=[a-z0-9])")
_REPEATED_LETTER = re.compile(r"([^\W\d_])\1{2,}")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def clean(text: str) -> str:
    """Return *text* without NUL and unpaired surrogates, so that it encodes as UTF-8 and fits any database."""
    if not _UNSTORABLE.search(text):
        return text
    joined = text.replace("\0", "").encode("utf-16-le", "surrogatepass")
    return joined.decode("utf-16-le", "replace")


def clean_visible(text: str) -> str:
    """Return *text* `clean`, and without hidden characters."""
    if text.isascii() and text.isprintable():  # as most texts are
        return text
    storable = clean(text)
    return remove_hidden(storable) if MAY_BE_HIDDEN.search(storable) else storable


def clean_json(value: object) -> object:
    """Return a JSON value with all its texts and keys `clean` and without hidden characters, which JSON can escape."""
    if isinstance(value, str):
        return clean_visible(value)
    if isinstance(value, dict):
        return {clean_visible(key): clean_json(item) for key, item in cast("dict[str, object]", value).items()}
    return [clean_json(item) for item in cast("list[object]", value)] if isinstance(value, list) else value


def fold(text: str) -> str:
    r"""Return *text* in lower case, simplified characters, ASCII punctuation and single spaces, for matching patterns.

    Full-width forms become ASCII ("。" and "、" have no ASCII form and stay), curly quotes become straight, and a
    space separates Chinese from Latin, so that `\b` works in mixed sentences as well.
    """
    if text.isascii():  # most texts of a memory are, and they need none of the slow steps
        return _single_spaces(text.lower().replace("`", "'"))
    plain = nfkc(text).casefold().translate(_ASCII).translate(_SIMPLIFIED)
    return _LATIN_THEN_HAN.sub(" ", _single_spaces(plain))


def _single_spaces(text: str) -> str:
    """Return the lines of *text* that are not blank, with single spaces between their words."""
    if "\n" not in text:
        return single_line(text)
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))


def fact_key(content: str) -> str:
    """Return the key under which two wordings are the same fact: case, width and spacing do not count."""
    return "".join(nfkc(content).casefold().split())


def nfkc(text: str) -> str:
    """Return *text* in the form NFKC, in linear time.

    All marks that combine with one letter are sorted, in quadratic time. So a joiner that has no other effect, U+034F,
    is inserted after each 30 marks in a row; no language needs as many.

    Source:
        Unicode Standard Annex 15, "Unicode Normalization Forms", section 13: Stream-Safe Text Format.
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _MAYBE_MARKS.sub(_join_marks, text))


def _join_marks(run: re.Match[str]) -> str:
    parts, marks = list[str](), 0
    for character in run[0]:
        marks = marks + 1 if _is_mark(character) else 0
        if marks > MAX_MARKS:
            parts.append(_JOINER)
            marks = 1
        parts.append(character)
    return "".join(parts)


def _is_mark(character: str) -> bool:
    """Return whether *character* combines with the one before it, once it is decomposed."""
    return unicodedata.combining(unicodedata.normalize("NFKD", character)[0]) > 0


def lower(text: str) -> str:
    """Return *text* with one form of each letter that a pattern without case takes for an ASCII letter."""
    return text.replace("İ", "i").replace("ı", "i").replace("ſ", "s").lower()


def places_of(part: str, text: str) -> Iterator[int]:
    """Yield where *part* begins in *text*; places may overlap. A pattern of a text would stay in the cache of `re`."""
    at = text.find(part) if part else -1
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def find_whole(part: str, text: str) -> int:
    """Return where *part* first stands in *text* and is no part of a longer word; -1 if it does nowhere."""
    for at in places_of(part, text):
        end = at + len(part)
        if not any(map(_joins, (text[max(0, at - 1) : at + 1], text[end - 1 : end + 1]))):
            return at
    return -1


def _joins(pair: str) -> bool:
    return len(pair) > 1 and pair.isalnum() and not is_chinese(pair)


def single_line(text: str) -> str:
    """Return *text* on one line, with single spaces."""
    return " ".join(text.split())


def shorten(text: str, limit: int) -> str:
    """Return *text* on one line, cut to *limit* characters, the last three of which are dots then."""
    line = single_line(text)
    return f"{line[: limit - 3]}..." if len(line) > limit else line


def is_chinese(text: str) -> bool:
    """Return whether *text* has a Chinese character."""
    return IS_HAN.search(text) is not None


def words_of(text: str) -> list[str]:
    """Return the folded words of *text*, each Chinese character being one; its emoji if it has no words.

    A letter repeated three times or more counts once: "thanksss" is "thanks".
    """
    folded = fold(text)
    words = WORD.findall(folded)
    if _REPEATED_LETTER.search(folded):
        words = [_REPEATED_LETTER.sub(r"\1", word) for word in words]
    return words or [sign for sign in text if unicodedata.category(sign) == "So"]


def escape(text: str) -> str:
    """Return *text* so that it cannot open or close a tag of the block around it."""
    return html.escape(text, quote=False)


def unescape(text: str) -> str:
    """Undo `escape`. Other entities, which it does not make, stay."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


# -- stems ------------------------------------------------------------------------------------------

MIN_STEM_CHARS = 4
"""A shorter word is its own stem, but for one that ends in "y"."""
MIN_SHARED_CHARS = 4
MIN_SHARED_SHARE = 2 / 3
"""Of the longer word, so much must be the shared beginning of two forms, such as "allergy" and "allergic"."""


def is_same_form(one: str, other: str) -> bool:
    """Return whether two words are the same, or have most of their beginning in common, as "German" and "Germany"."""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return one == other or shared >= max(MIN_SHARED_CHARS, MIN_SHARED_SHARE * max(len(one), len(other)))


def stem(word: str) -> str:
    """Return the English stem of *word*, which is in lower case. Words with other letters or digits stay as they are.

    Source:
        Porter, "Snowball: A language for stemming algorithms", 2001.
    """
    is_long = len(word) >= MIN_STEM_CHARS or word.endswith("y")  # that of "flies" is that of "fly"
    return _english_stem(word) if is_long and word.isascii() and word.isalpha() else word


@word_cache(4_096)
def stems_of(word: str) -> frozenset[str]:
    """Return the stems that *word*, in lower case, has in each of the languages of which it may be."""
    return frozenset((word, *(stemmer().stemWord(word) for stemmer in _stemmers())))


@word_cache(65_536)  # stemming a word takes 30 us
def _english_stem(word: str) -> str:
    english, *_ = _stemmers()
    return english().stemWord(word)


class Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - the library's name


@cache
def _stemmers() -> tuple[type[Stemmer], ...]:
    """Return the classes, not objects: these keep their current word, so threads must not share one."""
    from snowballstemmer import EnglishStemmer, FrenchStemmer, GermanStemmer, SpanishStemmer

    return cast("tuple[type[Stemmer], ...]", (EnglishStemmer, FrenchStemmer, GermanStemmer, SpanishStemmer))
