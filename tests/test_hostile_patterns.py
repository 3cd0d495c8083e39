"""Every regular expression of the package takes time in proportion to the length of a text, whatever the text."""

from __future__ import annotations

import functools
import gc
import importlib
import pkgutil
import re
import sys
from collections import deque
from types import BuiltinMethodType, FunctionType, MappingProxyType
from typing import Any

from cpu_time import TRIES, cpu_seconds
from hostile_shapes import runs
from langchain_core.messages import HumanMessage

import memgraph
from memgraph import Context, build_graph, storage
from memgraph.analysis.lexicon import load_lexicon
from memgraph.analysis.provenance import cues
from memgraph.analysis.requests import _QUESTION
from memgraph.analysis.words import LANGUAGES, groups_of
from memgraph.api.page import rendering
from memgraph.audit import ABOUT_ASSISTANT, FOR_ASSISTANT
from memgraph.cli.declare import _EXAMPLE
from memgraph.importers.conversation import _TURN
from memgraph.llm.offline.sentences import _PASTED_LINE, _patterns, pattern
from memgraph.llm.offline.slot_statements import _BARE_FIRM, _NATIONALITY, _compiled, _table, _worded
from memgraph.prompts.json_text import _ENDS_ENTRY

LENGTHS = (1_000, 8_000)
"""Lengths of the runs. The longer ones are for patterns that the shorter ones leave in doubt."""
PARTS = 8
"""In a text of the same length with runs of an eighth of it, a quadratic pattern takes an eighth of the time."""
DOUBTFUL_RATIO = 1.5
MAX_RATIO = 3
NOISE_SECONDS = 0.05

CONTAINERS = (dict, list, tuple, set, frozenset, MappingProxyType, functools.partial, BuiltinMethodType)
CACHED = type(functools.cache(len))

SLOTS = frozenset(
    _compiled(source) for rule in _table().statements for source in (*rule.when, *rule.also, _worded(rule.says))
)
ANCHORED = (
    SLOTS
    | {_NATIONALITY, _BARE_FIRM, _PASTED_LINE}
    | {ABOUT_ASSISTANT, FOR_ASSISTANT, _EXAMPLE, _ENDS_ENTRY, _QUESTION}
    | {storage._DOTTED, storage._URL, _TURN}
    | {
        pattern(language, name)
        for language in LANGUAGES
        for name in ("opening", "request", "speaks", "wish", "objection")
    }
    | {found for language in LANGUAGES for found, _ in rendering._messages(language)}
)
"""Only `match` and `fullmatch` are called on these, or they begin with ^: they are tried at one position only."""


def reachable_patterns() -> set[re.Pattern[Any]]:
    """Return the patterns that modules, classes, functions and caches of the package hold."""
    todo: list[object] = [vars(module) for name, module in sys.modules.items() if name.partition(".")[0] == "memgraph"]
    found, seen = set[re.Pattern[Any]](), set[int]()
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, re.Pattern):
            found.add(value)
        elif isinstance(value, (*CONTAINERS, CACHED)) or is_own(value):
            todo += gc.get_referents(value)
    return found


def is_own(value: object) -> bool:
    """Return whether *value* is a class or function of the package, or an instance of such a class."""
    definition = value if isinstance(value, (type, FunctionType)) else type(value)
    return str(definition.__module__).partition(".")[0] == "memgraph"


def load_patterns() -> set[re.Pattern[Any]]:
    """Import everything, and learn from a conversation in each language: the patterns of data files are built then."""
    for module in pkgutil.walk_packages(memgraph.__path__, "memgraph."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for text in ("I live in Oslo. No, use uv.", "我住在北京。", "I uploaded it. Every user's uploaded file is stored."):
        build_graph(storage="memory:").invoke({"messages": [HumanMessage(text)]}, context=Context(user_id="ada"))
    for language in LANGUAGES:
        for name in _patterns()[language]:
            pattern(language, name)
    for file in groups_of("provenance"):
        for origin in ("quoted", "relayed", "recalled"):
            for kind in file[origin]:
                cues(origin, kind)
    load_lexicon()
    return reachable_patterns()


@functools.cache
def texts(length: int) -> tuple[str, str]:
    """Return a text of runs, and one as long of shorter runs."""
    return "".join(runs(length)), "".join(runs(length // PARTS)) * PARTS


def seconds_of(pattern: re.Pattern[Any], text: str) -> float:
    searched = text if isinstance(pattern.pattern, str) else text.encode()
    return cpu_seconds(lambda: deque(pattern.finditer(searched), maxlen=0))


def is_linear(pattern: re.Pattern[Any]) -> bool:
    """Return whether long runs take hardly longer than as many characters in short runs, in one of TRIES tries."""
    return any(looks_linear(pattern) for _ in range(TRIES))


def looks_linear(pattern: re.Pattern[Any]) -> bool:
    for length in LENGTHS:
        long, short = (seconds_of(pattern, text) for text in texts(length))
        if long > MAX_RATIO * short + NOISE_SECONDS:
            return False
        if long < DOUBTFUL_RATIO * short:
            break
    return True


def test_every_pattern_takes_linear_time() -> None:
    patterns = load_patterns()

    growing = {(found.pattern, found.flags) for found in patterns - ANCHORED if not is_linear(found)}

    assert growing == set()
    assert len(patterns) > 400
