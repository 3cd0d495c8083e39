"""Texts are read in memgraph/analysis alone: no other module tokenizes, or has lists of words that only read a text."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memgraph.analysis.answers import function_words
from memgraph.analysis.words import in_order

PACKAGE = Path(__file__).parents[2] / "memgraph"
HOME = PACKAGE / "analysis"

MAX_FUNCTION_WORDS = 4
"""Function words in a collection: modules name a few in other lists, as in the words of a question."""
PROBE = "quiet harbour lanterns"
"""What finds each word of this text, and nothing else, is a tokenizer."""
FINDING = frozenset({"findall", "finditer", "split"})
"""What reads all words of a text; other methods read one place of it, such as a name or a key."""
INSERTED = "\u8c6b"
"""What stands for a value in an f-string: a character that is not in the texts above."""
SPACES = (r"\s+", r"\s", " +", " ")
"""Splitting at blanks is what `str.split` does; lines and fields are read so."""
RANGE = re.compile(r"\\u[34][0-9a-f]{3}\s?-|[\u3400-\u4fff]-[\u9f00-\u9fff]", re.IGNORECASE)
WEEKDAY_CLASS = re.compile(r"\[[^\]]*一二三[^\]]*[日天]")
CHINESE_WEEKDAY = "(?:周|星期|礼拜)[一二三四五六日天]"


def _text_of(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text_of(part) or INSERTED for part in node.values)
    return None


def _strings(tree: ast.AST) -> Iterator[str]:
    """Yield the strings of a module, those of an expression that is no docstring."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    yield from (text for node in ast.walk(tree) if id(node) not in docstrings and (text := _text_of(node)))


def asks_for_chinese(tree: ast.AST) -> Iterator[str]:
    """Yield ranges of Chinese characters, and imports of the patterns of analysis that have one."""
    yield from (
        text for text in _strings(tree) if RANGE.search(text.encode("unicode_escape").decode()) or RANGE.search(text)
    )
    names = (alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names)
    yield from (name for name in names if "HAN" in name.split("_"))


def tokenizes(tree: ast.AST) -> Iterator[str]:
    """Yield the regular expressions by which a module finds all words of a text, or splits one."""
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)]
    assigned = {
        target.id: node.value.args[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and node.value.args
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in FINDING:
            continue
        owner = call.func.value.id if isinstance(call.func.value, ast.Name) else ""
        source = call.args[0] if owner == "re" and call.args else assigned.get(owner)
        pattern = _text_of(source) if source else None
        if pattern and pattern not in SPACES and _finds_words(pattern, call.func.attr):
            yield pattern


def _finds_words(source: str, method: str) -> bool:
    pattern = re.compile(source, re.IGNORECASE)
    found = pattern.split(PROBE) if method == "split" else [match[0] for match in pattern.finditer(PROBE)]
    return [one for one in found if one] == PROBE.split()


def has_stop_words(tree: ast.AST) -> Iterator[str]:
    """Yield collections, and strings that are split, with more than a few function words."""
    for node in ast.walk(tree):
        words = list[str]()
        if isinstance(node, ast.Set | ast.List | ast.Tuple):
            words = [text for one in node.elts if (text := _text_of(one))]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split":
            words = (_text_of(node.func.value) or "").replace("|", " ").split()
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "frozenset":
            words = [*"".join(filter(None, map(_text_of, node.args)))]  # Chinese characters
        if len(function_words().intersection(map(str.casefold, words))) > MAX_FUNCTION_WORDS:
            yield " ".join(words)


def names_weekdays(tree: ast.AST) -> Iterator[str]:
    """Yield strings that name several weekdays, whole or in short, and the lists of the standard library."""
    english = "|".join(f"{day[:3]}[a-z]{{0,3}}(?:day)?" for day in in_order("weekdays"))
    named = re.compile(rf"(?<![a-z])(?:{english})(?![a-z])|{CHINESE_WEEKDAY}", re.IGNORECASE)
    for text in _strings(tree):
        if len({day[:3].casefold() for day in named.findall(text)}) > 1 or WEEKDAY_CLASS.search(text):
            yield text
    names = (node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    yield from (name for name in names if name in {"day_name", "day_abbr"})


Check = Callable[[ast.AST], Iterator[str]]
CHECKS: tuple[Check, ...] = (asks_for_chinese, tokenizes, has_stop_words, names_weekdays)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_no_module_outside_analysis_reads_words_by_itself(check: Check) -> None:
    """Import `is_chinese`, `words_of`, `extract_terms` or a list of words.yaml."""
    found = {
        f"{path.relative_to(PACKAGE)}: {text[:80]!r}"
        for path in PACKAGE.rglob("*.py")
        if HOME not in path.parents
        for text in check(ast.parse(path.read_text(encoding="utf-8")))
    }

    assert not found


@pytest.mark.parametrize(
    ("check", "source"),
    [
        (asks_for_chinese, r'HAS = re.compile("[\u4e00-\u9fff]")'),
        (asks_for_chinese, 'HAS = re.compile("[一-龥]")'),
        (asks_for_chinese, "from memgraph.analysis.normalize import IS_HAN"),
        (tokenizes, r'words = re.findall(r"\w+", text)'),
        (tokenizes, r'_WORD = re.compile(rf"[{HAN}]|[^\W_{HAN}]+")' + "\n_WORD.finditer(text)"),
        (tokenizes, r'words = re.split(r"\W+", text)'),
        (has_stop_words, 'STOP = {"the", "a", "of", "to", "with"}'),
        (has_stop_words, 'STOP = "the | a | of | to | with".split("|")'),
        (has_stop_words, 'STOP = frozenset("的了着过吗")'),
        (names_weekdays, 'DAYS = ("Mon", "Tue", "Wed")'.replace('", "', " ")),
        (names_weekdays, r'DAY = re.compile(r"\b(?:mon|tues|wednes)day\b")'),
        (names_weekdays, 'DAY = re.compile("(?:周|星期)[一二三四五六日]")'),
        (names_weekdays, "calendar.day_name[day]"),
    ],
)
def test_each_check_finds_what_it_forbids(check: Check, source: str) -> None:
    assert list(check(ast.parse(source)))
