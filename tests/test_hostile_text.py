"""Every public function that takes text takes time in proportion to its length, whatever the text.

The paths from a message to the memory and back are tried in test_hostile_paths.

A new function is found by its package and its annotations; an unknown annotation fails the tests until VALUES knows it.
"""

from __future__ import annotations

import importlib.util
import inspect
import pkgutil
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from cpu_time import cpu_limit, growth
from hostile_values import (
    NO_TEXT,
    OTHERS,
    SHAPES,
    VALUES,
    Value,
    answers_of,
    memory_of,
    text_of_length,
    upkeep_answer_of,
)
from langchain_core.messages import AIMessage, HumanMessage

import memgraph
from memgraph import Context, MemgraphError, build_graph
from memgraph.attachments.node_io import make_context_message
from memgraph.prompts.parse import InvalidItemError, UnreadableError

PACKAGES = ("analysis", "audit", "editing", "importers", "prompts", "retrieval", "review", "rules")
MODULES = ("attachments.node_io", "attachments.item", "cli.output", "llm.offline.sentences", "models.values")

LENGTH = 200_000
LIMIT_SECONDS = 60
"""CPU time for all texts: a cubic function would not end."""

CALLS: Mapping[str, Mapping[str, Value]] = {
    "audit.fact_finding": {"facts": lambda text: memory_of(text).facts},
    "editing.edit_fact": {"fact_id": lambda _: "f3", "content": str},
    "editing.find_fact": {"fact_id": str},
    "analysis.ahead_at": {"unit": lambda _: "day"},
    "importers.read_deerflow": {"owner": lambda _: None},
    "importers.parse_message": {"item": lambda text: {"role": "user", "content": text}},
    "importers.read_langgraph": {"owner": lambda _: None},
    "importers.read_langmem": {"owner": lambda _: None},
    "importers.read_markdown": {"owner": lambda _: None},
    "importers.read_mem0": {"owner": lambda _: None},
    "prompts.find_last": {"text": lambda text: answers_of(text).text},
    "prompts.find_closed": {"text": lambda text: answers_of(text).text},
    "prompts.parse_upkeep_answer": {"answer": upkeep_answer_of},
    "prompts.update_prompt": {"signal_names": lambda _: ("correction",)},
    "prompts.read_turns": {"prompt": lambda text: f'<turn speaker="user" part="new">{text}</turn>{text}'},
    "prompts.read_facts": {"prompt": lambda text: f"{text}\n[f1] (context, 0.9) {text}\n[{text}"},
    "prompts.substitute": {"values": lambda text: {"x": text}},
    "review.parse_decision": {"answer": lambda text: {"changes": {"change_1": {"text": text}, text: "accept"}}},
    "analysis.split_text": {"max_length": lambda _: 3},
    "analysis.without_blocks": {"names": lambda _: ("memory", "uploaded_files")},
    "attachments.context_entries": {
        "messages": lambda text: [make_context_message(f"--- notes ---\n1. {text}\n   {text}\n2. {text}")],
        "store_name": lambda _: "notes",
    },
    "retrieval.split_overlapping": {"overlap": lambda _: 100},
    "rules.first_batch": {"cost": lambda _: lambda turn: len(turn.text)},
    "analysis.cut_at_sentence": {"measure": lambda _: len},
}
"""Arguments of single functions, where the annotation alone does not reach the code."""

SKIPPED = {
    "attachments.without_context": "it takes the result of a node",
    "llm.compiled": "it takes a pattern of the package",
    "llm.matches_pattern": "it takes the name of a pattern; what reads sentences is tried",
    "llm.read_statements": "it takes a sentence of bounded length; what reads a turn is tried",
    "cli.handle_errors": "it takes the output; what it prints is tried",
    "editing.update_memory": "it takes no text, but a function that changes a memory",
    "editing.remove_words": "it takes a storage, and compares ids",
    "importers.read_chatdev_items": "it takes a file; what reads its items and their text is tried",
    "importers.read_chats": "it takes a file; what reads its items and their text is tried",
    "importers.read_store": "it takes a store; `read_langgraph` reads the same items",
    "prompts.read_instructions": "it takes the name of a file and of a setting",
    "retrieval.make_embeddings": "it takes a name from the settings",
    "retrieval.call_embeddings": "it takes the name of a model",
    "retrieval.get_ranker": "it takes a name from the settings",
    "analysis.read_pattern_files": "it takes the folder of the package or of a user's settings",
    "analysis.read_arrays": "it takes the name of a file of the package",
    "analysis.score_words": "it takes the features of a text",
    "analysis.in_order": "it takes the name of a list of the package",
    "analysis.month_number": "it takes the name of a month, which a pattern has matched",
    "analysis.unit_at": "it takes a name from UNITS",
    "analysis.same_day_at": "it takes a name from UNITS",
    "analysis.check_timezone": "it takes a time zone from the settings",
    "analysis.compile_pattern": "it takes a pattern from the settings",
}


# -- the functions ----------------------------------------------------------------------------------


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the package and name of each public function in PACKAGES and MODULES, and the function."""
    for module in pkgutil.walk_packages(memgraph.__path__, "memgraph."):
        path = module.name.removeprefix("memgraph.")
        if path not in MODULES and not any(path == package or path.startswith(f"{package}.") for package in PACKAGES):
            continue
        for name, function in vars(importlib.import_module(module.name)).items():
            is_own = getattr(function, "__module__", None) == module.name
            if inspect.isfunction(function) and is_own and not name.startswith("_"):
                yield f"{path.partition('.')[0]}.{name}", function


def parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def annotation(parameter: inspect.Parameter) -> str:
    given = parameter.annotation
    return given if isinstance(given, str) else inspect.formatannotation(given)


FUNCTIONS = {
    name: function
    for name, function in public_functions()
    if name not in SKIPPED and any(annotation(parameter) in VALUES for parameter in parameters(function).values())
}
"""Those that take text."""


def arguments(name: str, text: str) -> inspect.BoundArguments:
    """Return a value for each required parameter, and for those that CALLS names."""
    given = CALLS.get(name, {})
    values = {
        parameter.name: (given.get(parameter.name) or VALUES.get(kind) or OTHERS[kind])(text)
        for parameter in parameters(FUNCTIONS[name]).values()
        if (kind := annotation(parameter)) and (parameter.default is parameter.empty or parameter.name in given)
    }
    bound = inspect.signature(FUNCTIONS[name]).bind_partial()
    bound.arguments.update(values)
    return bound


def update(text: str) -> None:
    """Learn from *text* by the offline model."""
    messages = [HumanMessage("I live in Oslo."), AIMessage("Nice."), HumanMessage(text), AIMessage(text)]
    build_graph(storage="memory:").invoke({"messages": messages}, context=Context(user_id="ada"))


# -- the time ---------------------------------------------------------------------------------------


def run(call: Callable[[], object]) -> None:
    """Run *call*, which may refuse the text, but not fail otherwise."""
    with suppress(MemgraphError, UnreadableError, InvalidItemError):
        result = call()
        if isinstance(result, Iterator):
            deque(result, maxlen=0)


def growing(call: Callable[[str], Callable[[], object]]) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return the shapes of text on which the time is not linear, and their times."""

    def prepare(units: tuple[str, ...], length: int) -> Callable[[], object]:
        return partial(run, call(text_of_length(units, length)))

    return {units: found for units in SHAPES if (found := growth(partial(prepare, units), LENGTH))}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_time_grows_in_proportion_to_the_text(name: str) -> None:
    def call(text: str) -> Callable[[], object]:
        bound = arguments(name, text)
        return partial(FUNCTIONS[name], *bound.args, **bound.kwargs)

    run(call("warm up"))

    with cpu_limit(LIMIT_SECONDS):
        assert growing(call) == {}


def test_the_time_of_an_update_grows_in_proportion_to_the_text() -> None:
    """From the messages to the saved memory, with the built-in model."""
    update("warm up")

    with cpu_limit(LIMIT_SECONDS):
        assert growing(lambda text: partial(update, text)) == {}


# -- the guard --------------------------------------------------------------------------------------


def test_every_public_function_of_these_packages_is_tried() -> None:
    """If this fails: add its annotation to VALUES or OTHERS, or its name to SKIPPED with a reason."""
    unknown = {
        (name, annotation(parameter))
        for name, function in public_functions()
        if name not in SKIPPED
        for parameter in parameters(function).values()
        if parameter.default is parameter.empty
        and annotation(parameter) not in {*VALUES, *OTHERS, *NO_TEXT}
        and parameter.name not in CALLS.get(name, {})
    }

    assert unknown == set()
    assert set(CALLS) <= set(FUNCTIONS)
    assert set(SKIPPED) <= {name for name, _ in public_functions()}
    assert all(importlib.util.find_spec(f"memgraph.{path}") for path in (*PACKAGES, *MODULES))
    assert len(FUNCTIONS) > 90
