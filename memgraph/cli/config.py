"""memgraph config, status and setup: the settings, what learns and finds by them, and the choice of the model."""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from memgraph._validation import redact_passwords
from memgraph.attachments.registry import MEMORY_TYPES
from memgraph.attachments.store import MemoryAttachment
from memgraph.background import open_outbox
from memgraph.cli.command import CommandContext
from memgraph.cli.format import pluralize, show_changes
from memgraph.cli.input import prompt_line
from memgraph.config import checks_folder, choose_model, describe_finding, make_chat_model, make_context
from memgraph.config.edit import set_in_file
from memgraph.config.load import CONFIG_FILE, ROOT_KEYS
from memgraph.config.providers import OLLAMA, PROVIDERS, Provider, loopback_models, ollama_model
from memgraph.errors import EditError, ModelError
from memgraph.fields import FieldSpec
from memgraph.report import Report
from memgraph.settings import Settings
from memgraph.storage.memory import InMemoryStorage

BY_RULES = "the rules alone"
BETTER = "run `memgraph setup` to choose a chat model: it learns more than the built-in one"
OWN_MODEL = "An agent's memory learns with the agent's own model unless model_name is set."


def config(ctx: CommandContext, *, template: bool = False) -> object:
    """Show the effective settings and their sources.

    Passwords and keys are redacted.

        memgraph config
        memgraph config --template > memgraph.yaml

    Args:
        template: Print a memgraph.yaml with every key, explained.
    """
    if template:
        text = render_template()
        ctx.output.verbatim(text)
        return {"template": text}
    settings, file, choice = ctx.settings, ctx.loaded.file, choose_model(ctx.settings)
    if settings.memories or settings.attachments:  # an invalid one is an error, as when an agent starts
        from memgraph.attachments.manager import MemoryManager

        MemoryManager.from_settings(settings)
    values = {name: redact_passwords(value) for name, value in settings.model_dump(mode="json").items()}
    sources = {name: ctx.loaded.sources.get(name, "default") for name in values}
    document = {
        "file": str(file) if file else None,
        "model": choice.name,
        "model_reason": choice.reason,
        "checking": _checked_by(ctx),
        "finding": describe_finding(settings),
        "storage": ctx.storage.name,
        "kept_words": settings.policy.kept_words,
        "settings": {
            name: {"value": value, "from": "the command line" if sources[name] == name else sources[name]}
            for name, value in values.items()
        },
    }
    rows = (
        *(("File", file or "none"), ("Model", f"{choice.name} ({choice.reason})")),
        *([] if settings.model_name else [("", OWN_MODEL)]),
        *(("Checks", document["checking"]), ("Finding", document["finding"])),
        *(("Storage", document["storage"]), ("Kept", document["kept_words"])),
    )
    _show_rows(ctx, rows)
    ctx.output.line()
    for name, value in values.items():
        source, shown = sources[name], "none" if value is None else str(value)
        ctx.output.line(f"{name:<26} {shown:<20} {source}", "" if source == "default" else "green", indent=2)
    return document


def status(ctx: CommandContext) -> object:
    """Show what learns, what finds, in which storage, and what would make it better.

    memgraph status
    """
    choice, settings = choose_model(ctx.settings), ctx.settings
    with open_outbox(settings.outbox, storage=ctx.storage) as outbox:
        waiting = len(outbox.for_storage(ctx.storage.name).pending(now=time.time())) if outbox.may_have_jobs() else 0
    document = {
        "learning": choice.name,
        "learning_reason": choice.reason,
        "checking": _checked_by(ctx),
        "finding": describe_finding(settings),
        "keeping": ctx.storage.name,
        "waiting": waiting,
        "better": [BETTER] if choice.is_fallback else [],
    }
    rows = (
        *(("Learning", f"{choice.name} ({choice.reason})"), ("Checking", document["checking"])),
        *(("Finding", document["finding"]), ("Keeping", document["keeping"])),
        ("Waiting", f"{pluralize(waiting, 'conversation')} to learn from"),
        *([("Better", BETTER)] if choice.is_fallback else []),
    )
    _show_rows(ctx, rows)
    return document


def _show_rows(ctx: CommandContext, rows: Iterable[tuple[str, object]]) -> None:
    rows = [*rows]
    width = max(len(title) for title, _ in rows) + 2
    for title, text in rows:
        ctx.output.line(f"{title and f'{title}:':<{width}}{text}", "dim" if title in {"", "Better"} else "")


def _checked_by(ctx: CommandContext) -> str:
    """Return what decides whether a claim follows from the user's words, and since when that is known."""
    from memgraph.llm.checkers import Checkers

    if ctx.settings.policy.verify == "off":
        return f"{BY_RULES} (verify: off)"
    checkers = Checkers(checks_folder(ctx.settings, ctx.storage.name))
    if choose_model(ctx.settings).is_fallback or (model := make_chat_model(ctx.settings)) is None:
        return f"{BY_RULES} (the built-in model does not check)"
    if (probe := checkers.probe(model)) is None:
        return f"{BY_RULES}, until the model was probed by an update that adds something"
    found = "the model, which passed its probe" if probe.passed else f"{BY_RULES}: the model failed its probe"
    return f"{found} on {probe.at}"


# -- the choice of a model --------------------------------------------------------------------------

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
    from memgraph.update.graph import build_graph

    settings = ctx.settings.model_copy(update={"enabled": True, "model_name": name, "review": "never"})
    graph = build_graph(defaults=make_context(settings, storage=InMemoryStorage()))
    ctx.output.begin_step(f"Testing {name} ")
    final = graph.invoke({"messages": [HumanMessage(EXAMPLE)]}, context=Context(user_id="setup", thread_id="setup"))
    ctx.output.end_line()
    report: Report = final["report"]
    if not report.added:
        raise ModelError(f"{name} answered, but learned nothing from {EXAMPLE!r}: choose another model")
    return report


# -- the template -----------------------------------------------------------------------------------

WIDTH = 110
HEADER = """\
# memgraph.yaml: all configuration keys, set to their defaults.
# MEMGRAPH_<KEY> in the environment overrides a key of `memory:`; ${VAR} in a value is read from the environment.
"""
MEMORIES = """
# Memories that nodes can attach, each with a name, a type, and the options of that type. To use one, uncomment its
# lines and remove the [] below.
memories: []
"""
ATTACHMENTS = """
# Memories attached to each node: the name of a node, and a list of memory names, or of entries with options. To use
# it, uncomment the lines and remove the {} below.
attachments: {}
"""


def render_template() -> str:
    """Return the template. Loaded as a configuration, it gives the defaults."""
    settings = [spec for spec in Settings.field_specs() if spec.name not in ROOT_KEYS]
    parts = [
        HEADER,
        "\nmemory:\n",
        *(f"{line}\n" for line in _format_keys(settings, {}, "  ")),
        MEMORIES,
        *(f"# {line}\n" if line else "\n" for line in _format_memories()),
        ATTACHMENTS,
        *(f"# {line}\n" for line in _format_attachment()),
    ]
    return "".join(parts)


def _format_memories() -> Iterator[str]:
    """Yield an example of each type; the options of an embedding model are explained once."""
    explained: frozenset[str] = frozenset()
    for kind in MEMORY_TYPES.values():
        specs = kind.config_cls.field_specs()
        yield ""
        yield from _wrap_comment(kind.summary, "  ")
        yield from (f"  - name: {kind.name}", f"    type: {kind.name}", "    config:")
        yield from _format_keys(specs, kind.example, "      ", explained=explained)
        explained |= {spec.name for spec in specs if spec.fields}


def _format_attachment() -> Iterator[str]:
    yield "  answer:"
    lines = list(_format_keys(MemoryAttachment.field_specs(), {"name": "simple"}, "      "))
    yield f"    - {lines[1].strip()}"
    yield from lines[2:]


def _format_keys(
    specs: Sequence[FieldSpec], example: Mapping[str, object], indent: str, *, explained: AbstractSet[str] = frozenset()
) -> Iterator[str]:
    for spec in specs:
        yield from _wrap_comment(_describe(spec), indent)
        for part in _flatten(spec.fields) if spec.name not in explained else ():
            yield from _wrap_comment(_describe(part, name=True), f"{indent}  ")
        yield f"{indent}{spec.name}: {_format_value(example.get(spec.name, spec.default))}"


def _flatten(specs: Sequence[FieldSpec], prefix: str = "") -> Iterator[FieldSpec]:
    """Yield the fields of an object, with nested fields named by their paths."""
    for spec in specs:
        path = f"{prefix}{spec.name}"
        if spec.fields:
            yield from _flatten(spec.fields, f"{path}.")
        else:
            yield spec.model_copy(update={"name": path})


def _describe(spec: FieldSpec, *, name: bool = False) -> str:
    """Describe a field: help, range, and the default if only its *name* is shown."""
    default = "required" if spec.required else f"default {_format_value(spec.default)}" if name else ""
    notes = ", ".join(filter(None, [_format_range(spec), default]))
    return f"{f'{spec.name}: ' if name else ''}{spec.help} [{notes}]"


def _format_range(spec: FieldSpec) -> str:
    if spec.choices:
        choices = (f"{choice.value} ({choice.summary})" if choice.summary else choice.value for choice in spec.choices)
        return f"{'any' if spec.type == 'array' else 'one'} of: {'; '.join(choices)}"
    low, high = spec.minimum, spec.maximum
    return spec.type if low is None or high is None else f"{spec.type} from {low:,} to {high:,}"


def _format_value(value: object) -> str:
    """Format a value as YAML, on one line."""
    import yaml

    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10_000)
    return text.removesuffix("...\n").strip()


def _wrap_comment(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")
