"""memgraph setup: choose the chat model that learns, test it, and store the choice."""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import os
from pathlib import Path

from memgraph.cli.command import CommandContext
from memgraph.cli.format import show_changes
from memgraph.cli.input import prompt_line
from memgraph.config import describe_finding, make_context
from memgraph.config.edit import set_in_file
from memgraph.config.load import CONFIG_FILE
from memgraph.config.providers import OLLAMA, PROVIDERS, Provider, loopback_models, ollama_model
from memgraph.errors import EditError, ModelError
from memgraph.report import Report
from memgraph.storage.memory import InMemoryStorage

EXAMPLE = "Hi, my name is Ada. I live in Lisbon and I'm vegetarian."
"""What the test learns from."""
VARIABLE = "MEMGRAPH_MODEL_NAME"


def setup(ctx: CommandContext, *, model: str | None = None) -> object:
    """Choose the chat model that learns, test it, and store it in memgraph.yaml.

    The test is one update of a memory in RAM. Keys stay in the environment: they are neither asked for, printed nor
    stored. With --model, nothing is asked.

        memgraph setup
        memgraph setup --model claude-haiku-4-5
    """
    file = ctx.loaded.file or Path(CONFIG_FILE)
    name = model or _ask(ctx)
    if name is None:
        ctx.output.line("Nothing was changed.")
        return None
    report = _test(ctx, name)
    ctx.output.line(f"{name} works. From {EXAMPLE!r} it learned:", "bold")
    show_changes(ctx.output, report)
    set_in_file(file, "model_name", name)
    ctx.output.line(f"Stored as model_name in {file}.")
    ctx.output.line(f"Memory is found by {describe_finding(ctx.settings)}.")
    if os.environ.get(VARIABLE):
        ctx.output.notice(f"{VARIABLE} is set in the environment, and overrides the file.")
    return {"model": name, "file": str(file), "learned": [fact.content for fact in report.added]}


def _ask(ctx: CommandContext) -> str | None:
    """Ask for a provider or a model; return the name of a model, None at the end of input."""
    from memgraph.llm import OFFLINE

    if not ctx.can_ask:
        raise EditError("setup asks for a model at a terminal; name one with --model")
    local = ollama_model()
    choices = [
        *((provider.title, provider.model, _needs(provider)) for provider in PROVIDERS),
        (OLLAMA.title, f"ollama:{local}" if local else "ollama:...", _needs(OLLAMA, is_running=local is not None)),
        *((title, name, "") for title, name in loopback_models()),
        ("Built in", OFFLINE, ""),
    ]
    ctx.output.line("Which model should learn?", "bold")
    for number, (title, name, needs) in enumerate(choices, 1):
        ctx.output.line(f"{number}  {title:<10} {name:<32} {needs or 'ready'}", "" if needs else "green", indent=2)
    default = next(number for number, (*_, needs) in enumerate(choices, 1) if not needs)
    answer = prompt_line(f"Number, or the name of any model [{default}]: ")
    if answer is None:
        return None
    chosen = answer.strip() or str(default)
    if not chosen.isdecimal():
        return chosen
    if not 1 <= int(chosen) <= len(choices):
        raise EditError(f"{chosen} is not one of the numbers 1 to {len(choices)}")
    title, name, needs = choices[int(chosen) - 1]
    if needs:
        raise EditError(f"{title} {needs}; then run `memgraph setup` again")
    return name


def _needs(provider: Provider, *, is_running: bool = True) -> str:
    """Describe what is missing before *provider* can be used; empty if nothing is."""
    missing = [
        f"{' or '.join(provider.variables)} in the environment" if provider.variables and not provider.variable else "",
        "" if is_running else "a running server with a model",
        f"pip install {' '.join(provider.missing_packages)}" if provider.missing_packages else "",
    ]
    return f"needs {' and '.join(filter(None, missing))}" if any(missing) else ""


def _test(ctx: CommandContext, name: str) -> Report:
    """Run one update with the model.

    Raises:
        ModelSetupError: If the model cannot be created.
        ModelError: If it does not answer, or learns nothing.
    """
    from langchain_core.messages import HumanMessage

    from memgraph.context import Context
    from memgraph.graph import build_graph

    settings = ctx.settings.model_copy(update={"enabled": True, "model_name": name, "review": "never"})
    graph = build_graph(defaults=make_context(settings, storage=InMemoryStorage()))
    ctx.output.begin_step(f"Testing {name} ")
    final = graph.invoke({"messages": [HumanMessage(EXAMPLE)]}, context=Context(user_id="setup", thread_id="setup"))
    ctx.output.end_line()
    report: Report = final["report"]
    if not report.added:
        raise ModelError(f"{name} answered, but learned nothing from {EXAMPLE!r}: choose another model")
    return report
