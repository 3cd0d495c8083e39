"""Every regular expression of the package takes time in proportion to the length of a text, whatever the text."""

from __future__ import annotations

import functools
import gc
import importlib
import pkgutil
import re
import sys
import time
from collections import deque
from types import BuiltinMethodType, FunctionType, MappingProxyType

from hostile_shapes import runs
from langchain_core.messages import HumanMessage

import memgraph
from memgraph import Context, build_graph
from memgraph.audit import pairs
from memgraph.llm.offline.patterns import LANGUAGES, _patterns, pattern
from memgraph.llm.offline.sentences import _PASTED_LINE
from memgraph.llm.offline.slots import _BARE_FIRM, _NATIONALITY, _compiled, _table

LONG = 1_600
SHORT = LONG // 8
LONG_RUNS = "".join(runs(LONG))
SHORT_RUNS = "".join(runs(SHORT)) * (LONG // SHORT)
"""As long a text, in which the runs are an eighth as long: a quadratic pattern takes an eighth of the time."""
MAX_RATIO = 3
NOISE_SECONDS = 0.1

CONTAINERS = (dict, list, tuple, set, frozenset, MappingProxyType, functools.partial, BuiltinMethodType)
CACHED = type(functools.cache(len))

SLOTS = frozenset(
    _compiled(source) for rule in _table().slots for source in (*rule.when, *rule.also, *rule.ends, rule.holds)
)
ANCHORED = (
    SLOTS
    | {*pairs.SLOTS.values(), pairs._PREFERS, _NATIONALITY, _BARE_FIRM, _PASTED_LINE}
    | {
        pattern(language, name)
        for language in LANGUAGES
        for name in ("opening", "request", "speaks", "remember", "wish", "objection")
    }
)
"""Only `match` and `fullmatch` are called on these, on a sentence, so they are tried at one position, not at each."""


SENTENCE_ONLY = (
    "[A-Za-z_]\\w*(\\.[A-Za-z_]\\w*)+",
    "[.!?;\\n。！？；]+(?:\\s|$|",
    "(?:so |and |but |please )?(?:(?:what|where|",
    "\\s*(?:(?:the\\s+)?(?:ai\\s+)?(?:assistant|",
    "\\s*(?:echo .* \\| )?memgraph",
    "\\s*[,\\]]",
    "\\b(?:uploaded|attached) ",
)
"""Beginnings of patterns that are not linear, but are used on one sentence, name or option only; the functions that
call them are held to linear time by test_hostile_text.py."""


def reachable_patterns() -> set[re.Pattern[str]]:
    """Return the patterns that modules, classes, functions and caches of the package hold."""
    todo: list[object] = [vars(module) for name, module in sys.modules.items() if name.partition(".")[0] == "memgraph"]
    found, seen = set[re.Pattern[str]](), set[int]()
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


def load_patterns() -> set[re.Pattern[str]]:
    """Import everything, and learn from a conversation in each language: the patterns of data files are built then."""
    for module in pkgutil.walk_packages(memgraph.__path__, "memgraph."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for text in ("I live in Oslo. No, use uv.", "我住在北京。"):
        build_graph(storage="memory:").invoke({"messages": [HumanMessage(text)]}, context=Context(user_id="ada"))
    for language in LANGUAGES:
        for name in _patterns()[language]:
            pattern(language, name)
    return reachable_patterns()


def seconds_of(pattern: re.Pattern[str], text: str) -> float:
    start = time.process_time()
    deque(pattern.finditer(text), maxlen=0)
    return time.process_time() - start


def test_every_pattern_takes_linear_time() -> None:
    patterns = [found for found in load_patterns() if isinstance(found.pattern, str)]

    quadratic = {
        found.pattern: (long, short)
        for found in patterns
        if found not in ANCHORED
        and not found.pattern.startswith(SENTENCE_ONLY)
        and (long := seconds_of(found, LONG_RUNS)) > NOISE_SECONDS
        and long > MAX_RATIO * (short := seconds_of(found, SHORT_RUNS)) + NOISE_SECONDS
    }

    assert quadratic == {}
    assert len(patterns) > 400
