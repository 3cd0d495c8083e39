"""memgraph chat: a conversation in the terminal, with memory of earlier ones."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import Annotated

import typer

from memgraph.analysis.hidden import split_shown
from memgraph.chat_agent import ChatAgent, format_fact_line, format_quote, new_thread
from memgraph.cli.command import CommandContext
from memgraph.cli.format import format_scope, pluralize, show_changes, shown_line
from memgraph.cli.history import show_conflicts, show_fact_history, show_undo
from memgraph.cli.input import read_lines
from memgraph.cli.output import Output
from memgraph.config import choose_model, describe_finding, make_chat_model
from memgraph.config.providers import HOW_TO_CHOOSE, ModelChoice
from memgraph.errors import EditError, IdentityError
from memgraph.llm import OFFLINE
from memgraph.models import Scope, validate_id
from memgraph.opened import OpenMemory

OFFLINE_ANSWERS = "The built-in offline model learns. It cannot chat: answers quote the memory."
OFF = "Memory is off (enabled: false): nothing is learned or recalled."
UNFINISHED = "Not everything was learned yet: the next chat retries it (see `memgraph pending`)."
NO_USER = "this system has no login name: pass --user, or set MEMGRAPH_USER"
PROMPT = "you> "

QUIT_WORDS = frozenset({"/exit", "exit", "quit", "exit()", "quit()", ":q", "退出"})
"""Lines that end the chat, as /quit does."""
FORGET_USAGE = (
    "/forget ID removes one fact, and your words that it rests on (/memory lists the ids); "
    "/forget all deletes everything, for good."
)
MAX_RESULTS = 5
FLUSH_SECONDS = 60.0
"""Maximum wait for pending updates when a chat ends; unfinished ones stay in the outbox."""


def chat(
    ctx: CommandContext,
    *,
    user: Annotated[str | None, typer.Option(envvar="MEMGRAPH_USER")] = None,
    agent: str | None = None,
    thread: str | None = None,
    model: str | None = None,
    outbox: str | None = None,
) -> object:
    """Chat with memory of earlier chats.

    One message per line; /help lists the commands, and Ctrl-D ends the chat. Without a model provider, answers quote
    the memory.

        memgraph chat
        memgraph chat --user ada --model claude-haiku-4-5

    Args:
        user: Who you are; default: the login name.
        thread: Name of the conversation; default: a new one.
    """
    scope = Scope(user or _login_name(), agent)
    thread = validate_id(new_thread() if thread is None else thread, "thread")
    settings = ctx.settings.model_copy(update={"model_name": model} if model else {})
    choice = choose_model(settings)
    settings = settings.model_copy(update={"model_name": choice.name})
    answering = None if choice.name == OFFLINE else make_chat_model(settings)  # importing none takes no time
    with (
        OpenMemory(ctx.storage, settings=settings, outbox=outbox, learns=False) as memory,  # the agent's invoker learns
        # the offline model is fast, so its reply can name what it learned
        ChatAgent(memory, scope, thread, answering, immediate=answering is None) as answerer,
    ):
        conversation = Chat(ctx.output, answerer, choice)
        _print_model(conversation)
        _converse(ctx, conversation)
        conversation.finish()
    if learned := answerer.take_learned():  # after the agent is closed, so that no update is missed
        ctx.output.line(learned, "dim")
    return conversation.document


@dataclass
class Chat:
    """A conversation with the agent at a terminal."""

    output: Output
    agent: ChatAgent
    choice: ModelChoice
    is_over: bool = False

    def handle_line(self, line: str) -> None:
        """Run a command, or print the reply to a message as it is made."""
        if self._run_command(line):
            return
        for kind, pieces in groupby(self.agent.reply(line), lambda piece: piece.kind):
            if kind == "answer":
                self._print_stream(piece.text for piece in pieces)
                continue
            for piece in pieces:
                if kind == "notice":
                    self.output.notice(piece.text)
                else:
                    self.output.line(piece.text, "dim" if kind == "memory" and self.agent.model else "")

    # -- the end --

    def finish(self) -> None:
        """Wait for pending updates, and report unfinished ones; Ctrl-C stops waiting."""
        if self._has_pending:
            self.output.begin_step("Learning from this conversation ...")
            with suppress(KeyboardInterrupt):
                self.agent.invoker.flush(FLUSH_SECONDS)
            self.output.end_line()
        if self._has_pending:
            self.output.notice(UNFINISHED)

    @property
    def document(self) -> dict[str, object]:
        """The conversation as a JSON document."""
        agent = self.agent
        return {
            "user_id": agent.scope.user_id,
            "agent_name": agent.scope.agent_name,
            "thread_id": agent.thread,
            "messages": [
                {"role": "user" if message.type == "human" else "assistant", "content": message.text}
                for message in agent.messages
            ],
            "learned": agent.learned,
        }

    def describe_model(self) -> str:
        """Return which model answers and learns, and why."""
        if self.agent.model:
            return f"{self.choice.name} answers and learns: {self.choice.reason}."
        return f"{OFFLINE_ANSWERS} The reason: {self.choice.reason}."

    @property
    def _has_pending(self) -> bool:
        invoker = self.agent.invoker
        return any(job.key.scope == self.agent.scope for job in [*invoker.pending(), *invoker.failed()])

    def _print_stream(self, chunks: Iterator[str]) -> None:
        """Print an answer as it arrives."""
        rest = ""
        self.output.begin_step()
        for chunk in filter(None, chunks):
            ready, rest = split_shown(rest + chunk)
            self.output.begin_line(ready)
        self.output.end_line(rest)

    # -- the commands --

    def _run_command(self, line: str) -> bool:
        """Run *line* if it is a command; return whether it is one."""
        name, _, argument = line.partition(" ")
        if line.casefold() in QUIT_WORDS:
            self.is_over = True
        elif line.casefold() == "help":
            self.help("")
        elif command := COMMANDS.get(name.casefold()):
            try:
                command[0](self, argument.strip())
            except EditError as error:
                usage = f" {FORGET_USAGE}" if command[0] is Chat.forget else ""
                self.output.line(f"{shown_line(str(error))}.{usage}")
        elif name.startswith("/") and name[1:].isalpha():
            self.output.line(f"There is no command {shown_line(name)}; /help lists them.")
        else:
            return False
        return True

    def help(self, _: str) -> None:
        for name, (_run, usage, description) in COMMANDS.items():
            self.output.line(f"{f'{name} {usage}'.strip():19}{description}")
        self.output.line('Anything else is talk. "Remember that ..." (or 记住...) is stored word for word.')

    def memory(self, _: str) -> None:
        memory, episodes = self.agent.storage.load(self.agent.scope), self.agent.storage.episodes(self.agent.scope)
        location = self.agent.storage.location(self.agent.scope)
        count = f"{pluralize(len(memory.facts), 'fact')}, {pluralize(len(episodes), 'episode')}"
        self.output.line(f"{count} in {location}", "dim")
        for fact in memory.facts:
            self.output.line(f"{fact.id}  {format_fact_line(fact, self.agent.settings.timezone)}", indent=2)

    def search(self, query: str) -> None:
        if not query:
            self.output.line("/search WORDS finds facts, and what was said.")
            return
        found = self.agent.operations.search(query, limit=MAX_RESULTS)
        for each in found:
            line = format_quote(self.agent.texts, each, self.agent.settings.timezone)
            self.output.line(f"{each.score:.2f}  {line}", indent=2)
        if not found:
            self.output.line(self.agent.texts.nothing)

    def forget(self, argument: str) -> None:
        if argument == "all":
            self.agent.invoker.forget(self.agent.scope)
            self.agent.messages.clear()
            self.output.line(f"Everything about {shown_line(format_scope(self.agent.scope))} is deleted.")
        elif not argument:
            self.output.line(FORGET_USAGE)
        else:
            removed = self.agent.operations.delete(argument)
            self.output.line(f"Removed: {shown_line(removed.fact.content)}")
            for episode in removed.words.removed:
                self.output.line(f'"{shown_line(episode.text)}" (your words: removed, too)', indent=2)
            for episode in removed.words.kept:
                text = f'"{shown_line(episode.text)}" (your words: remain; another fact rests on them)'
                self.output.line(text, indent=2)

    def why(self, fact_id: str) -> None:
        if not fact_id:
            self.output.line("/why ID shows what a fact rests on (/memory lists the ids).")
            return
        show_fact_history(self.output, self.agent.operations.why(fact_id), self.agent.settings.timezone)

    def undo(self, argument: str) -> None:
        if argument and not argument.isdecimal():
            self.output.line(
                "/undo undoes the last change; /undo REVISION another one (`memgraph history` lists them)."
            )
            return
        done = self.agent.operations.undo(int(argument) if argument else None)
        show_undo(self.output, done)
        if done.conflicts:
            show_conflicts(self.output, done.conflicts)
        else:
            show_changes(self.output, done.revision.changes)

    def model(self, _: str) -> None:
        self.output.line(f"{self.describe_model()} To change it, {HOW_TO_CHOOSE}.")

    def quit(self, _: str) -> None:
        self.is_over = True


COMMANDS: Mapping[str, tuple[Callable[[Chat, str], None], str, str]] = MappingProxyType(
    {
        "/memory": (Chat.memory, "", "lists the facts"),
        "/search": (Chat.search, "WORDS", "finds facts, and what was said"),
        "/forget": (Chat.forget, "ID | all", "removes a fact with your words that it rests on, or everything"),
        "/why": (Chat.why, "ID", "shows what a fact rests on, and how it came about"),
        "/undo": (Chat.undo, "[REVISION]", "undoes the last change, or another one"),
        "/model": (Chat.model, "", "shows which model answers and learns"),
        "/help": (Chat.help, "", "lists the commands"),
        "/quit": (Chat.quit, "", "ends the chat; so do exit, quit and Ctrl-D"),
    }
)
"""Function, arguments and description, by name."""


def _login_name() -> str:
    """Return the name of the user of this system.

    Raises:
        IdentityError: If it has none, such as a container's numeric user.
    """
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError) as error:  # by Python version and platform
        raise IdentityError(NO_USER) from error


def _print_model(conversation: Chat) -> None:
    """Print which model answers and learns; a notice if it is not the one that was chosen."""
    output = conversation.output
    if conversation.choice.is_fallback:
        output.notice(f"{conversation.describe_model()} To change it, {HOW_TO_CHOOSE}.")
    elif conversation.agent.model is None:
        output.notice(OFFLINE_ANSWERS)
    else:
        output.line(conversation.describe_model(), "dim")
    if not conversation.agent.settings.enabled:
        output.notice(OFF)


def _converse(ctx: CommandContext, conversation: Chat) -> None:
    """Answer messages until the input or the chat ends, or Ctrl-C."""
    output, is_interactive = ctx.output, ctx.is_interactive
    if reconfigure := getattr(sys.stdin, "reconfigure", None):
        reconfigure(errors="replace")
    if is_interactive:
        user = shown_line(format_scope(conversation.agent.scope))
        output.line(f"User {user}. /help lists the commands, Ctrl-D ends the chat.")
        output.line(f"Memory is found by {describe_finding(conversation.agent.settings)}.", "dim")
    conversation.agent.open()
    try:
        for line in filter(None, read_lines(PROMPT if is_interactive else "")):
            conversation.handle_line(line)
            if conversation.is_over:
                return
    except KeyboardInterrupt:
        output.end_line()
    if is_interactive:
        output.line()
