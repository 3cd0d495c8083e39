"""The commands of the chat: /memory, /search and so on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from memgraph.chat_agent import format_fact_line, format_quote
from memgraph.cli.format import format_scope, pluralize, show_changes, shown_line
from memgraph.cli.history import show_conflicts, show_fact_history, show_undo
from memgraph.config.providers import HOW_TO_CHOOSE
from memgraph.errors import EditError

if TYPE_CHECKING:
    from memgraph.cli.chat import Chat

QUIT_WORDS = frozenset({"/exit", "exit", "quit", "exit()", "quit()", ":q", "退出"})
"""Lines that end the chat, as /quit does."""
FORGET_USAGE = (
    "/forget ID removes one fact, and your words that it rests on (/memory lists the ids); "
    "/forget all deletes everything, for good."
)
MAX_RESULTS = 5


def run_command(chat: Chat, line: str) -> bool:
    """Run *line* if it is a command; return whether it is one."""
    name, _, argument = line.partition(" ")
    if line.casefold() in QUIT_WORDS:
        chat.is_over = True
    elif line.casefold() == "help":
        show_help(chat, "")
    elif command := COMMANDS.get(name.casefold()):
        try:
            command[0](chat, argument.strip())
        except EditError as error:
            usage = f" {FORGET_USAGE}" if command[0] is forget else ""
            chat.output.line(f"{shown_line(str(error))}.{usage}")
    elif name.startswith("/") and name[1:].isalpha():
        chat.output.line(f"There is no command {shown_line(name)}; /help lists them.")
    else:
        return False
    return True


def show_help(chat: Chat, _: str) -> None:
    for name, (_run, usage, description) in COMMANDS.items():
        chat.output.line(f"{f'{name} {usage}'.strip():19}{description}")
    chat.output.line('Anything else is talk. "Remember that ..." (or 记住...) is stored word for word.')


def show_memory(chat: Chat, _: str) -> None:
    memory, episodes = chat.agent.storage.load(chat.agent.scope), chat.agent.storage.episodes(chat.agent.scope)
    location = chat.agent.storage.location(chat.agent.scope)
    count = f"{pluralize(len(memory.facts), 'fact')}, {pluralize(len(episodes), 'episode')}"
    chat.output.line(f"{count} in {location}", "dim")
    for fact in memory.facts:
        chat.output.line(f"{fact.id}  {format_fact_line(fact, chat.agent.settings.timezone)}", indent=2)


def search_memory(chat: Chat, query: str) -> None:
    if not query:
        chat.output.line("/search WORDS finds facts, and what was said.")
        return
    found = chat.agent.operations.search(query, limit=MAX_RESULTS)
    for each in found:
        line = format_quote(chat.agent.texts, each, chat.agent.settings.timezone)
        chat.output.line(f"{each.score:.2f}  {line}", indent=2)
    if not found:
        chat.output.line(chat.agent.texts.nothing)


def forget(chat: Chat, argument: str) -> None:
    if argument == "all":
        chat.agent.invoker.forget(chat.agent.scope)
        chat.agent.messages.clear()
        chat.output.line(f"Everything about {shown_line(format_scope(chat.agent.scope))} is deleted.")
    elif not argument:
        chat.output.line(FORGET_USAGE)
    else:
        removed = chat.agent.operations.delete(argument)
        chat.output.line(f"Removed: {shown_line(removed.fact.content)}")
        for episode in removed.words.removed:
            chat.output.line(f'"{shown_line(episode.text)}" (your words: removed, too)', indent=2)
        for episode in removed.words.kept:
            text = f'"{shown_line(episode.text)}" (your words: remain; another fact rests on them)'
            chat.output.line(text, indent=2)


def explain(chat: Chat, fact_id: str) -> None:
    if not fact_id:
        chat.output.line("/why ID shows what a fact rests on (/memory lists the ids).")
        return
    show_fact_history(chat.output, chat.agent.operations.why(fact_id), chat.agent.settings.timezone)


def undo(chat: Chat, argument: str) -> None:
    if argument and not argument.isdecimal():
        chat.output.line("/undo undoes the last change; /undo REVISION another one (`memgraph history` lists them).")
        return
    done = chat.agent.operations.undo(int(argument) if argument else None)
    show_undo(chat.output, done)
    if done.conflicts:
        show_conflicts(chat.output, done.conflicts)
    else:
        show_changes(chat.output, done.revision.changes)


def show_model(chat: Chat, _: str) -> None:
    chat.output.line(f"{chat.describe_model()} To change it, {HOW_TO_CHOOSE}.")


def leave(chat: Chat, _: str) -> None:
    chat.is_over = True


Command = Callable[["Chat", str], None]

COMMANDS: Mapping[str, tuple[Command, str, str]] = MappingProxyType(
    {
        "/memory": (show_memory, "", "lists the facts"),
        "/search": (search_memory, "WORDS", "finds facts, and what was said"),
        "/forget": (forget, "ID | all", "removes a fact with your words that it rests on, or everything"),
        "/why": (explain, "ID", "shows what a fact rests on, and how it came about"),
        "/undo": (undo, "[REVISION]", "undoes the last change, or another one"),
        "/model": (show_model, "", "shows which model answers and learns"),
        "/help": (show_help, "", "lists the commands"),
        "/quit": (leave, "", "ends the chat; so do exit, quit and Ctrl-D"),
    }
)
"""Function, arguments and description, by name."""
