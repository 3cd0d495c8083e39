"""memgraph chat: a conversation in the terminal, with memory of earlier ones."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

import typer

from memgraph._concurrency import run_in_thread
from memgraph.cli.chat_commands import run_command
from memgraph.cli.chat_reply import (
    TEXTS,
    ChatTexts,
    Language,
    find_quotes,
    format_learned,
    format_quote,
    join_facts,
    quote_all,
)
from memgraph.cli.command import CommandContext
from memgraph.cli.format import format_scope, shown_line
from memgraph.cli.input import read_lines
from memgraph.cli.output import Output
from memgraph.config import choose_model, describe_finding, make_chat_model
from memgraph.config.providers import HOW_TO_CHOOSE, ModelChoice
from memgraph.editing import add_fact, update_memory
from memgraph.errors import EditError, IdentityError, ModelError
from memgraph.llm import OFFLINE
from memgraph.models import Episode, Evidence, Fact, MemoryDocument, Scope, Turn, learned_source, validate_id
from memgraph.opened import OpenMemory
from memgraph.operations import Operations
from memgraph.settings import Settings
from memgraph.storage import MemoryStorage
from memgraph.text.admission import problem_of
from memgraph.text.episodes import episodes_of, find_episode
from memgraph.text.hidden import split_shown
from memgraph.text.normalize import fact_key, language_of_texts
from memgraph.text.remarks import is_passing_remark
from memgraph.text.requests import asks_for_all, is_brief_reply, is_greeting, is_question, words_to_remember

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AnyMessage, HumanMessage

    from memgraph.background.background_invoker import BackgroundInvoker
    from memgraph.background.execution import UpdateResult

OFFLINE_ANSWERS = "The built-in offline model learns. It cannot chat: answers quote the memory."
OFF = "Memory is off (enabled: false): nothing is learned or recalled."
UNFINISHED = "Not everything was learned yet: the next chat retries it (see `memgraph pending`)."
NO_USER = "this system has no login name: pass --user, or set MEMGRAPH_USER"
INSTRUCTIONS = (
    "You are a helpful assistant in a terminal: answer briefly, in plain text. "
    "Use what you know about the user when it helps, without reciting it."
)
PROMPT = "you> "

RECENT_MESSAGES = 40
"""Latest messages of a long conversation that are sent to the model and submitted for learning."""
FLUSH_SECONDS = 60.0
"""Maximum wait for pending updates when a chat ends; unfinished ones stay in the outbox."""
CLOSE_SECONDS = 1.0
"""Maximum wait for running updates after that; they stay in the outbox too."""


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
    thread = validate_id(f"chat-{uuid4().hex[:8]}" if thread is None else thread, "thread")
    settings = ctx.settings.model_copy(update={"model_name": model} if model else {})
    choice = choose_model(settings)
    settings = settings.model_copy(update={"model_name": choice.name})
    answering = None if choice.name == OFFLINE else make_chat_model(settings)  # importing none takes no time
    memory = OpenMemory(ctx.storage, settings=settings, outbox=outbox, learns=False)  # its invoker does, from the start
    conversation = Chat(ctx.output, memory, scope, thread, choice, answering)
    _print_model(conversation)
    try:
        _converse(conversation)
        conversation.finish()
    finally:
        conversation.close()
    conversation.print_learned()  # after close, so that no update is missed
    return conversation.document


@dataclass
class Chat:
    """One conversation: injects the memory into each answer, and submits each turn for learning."""

    output: Output
    memory: OpenMemory
    scope: Scope
    thread: str
    choice: ModelChoice
    model: BaseChatModel | None
    """None is the offline model, which learns but cannot answer."""
    language: Language = "en"
    """Of the last message."""
    is_over: bool = False
    messages: list[AnyMessage] = field(default_factory=list["AnyMessage"])
    learned: list[Fact] = field(default_factory=list["Fact"])
    updates: list[UpdateResult] = field(default_factory=list["UpdateResult"])
    refused: list[str] = field(default_factory=list[str])
    """Why something of the last message was not kept."""
    """Appended by the invoker's threads, read by this one."""
    _opening: Future[BackgroundInvoker] | None = None

    # -- parts, which are opened late: importing them takes longer than all that happens before the first prompt --

    @property
    def settings(self) -> Settings:
        return self.memory.settings

    @property
    def storage(self) -> MemoryStorage:
        return self.memory.storage

    @cached_property
    def operations(self) -> Operations:
        """The operations on the memory of the user."""
        scope = self.scope
        return Operations(self.memory, user_id=scope.user_id, agent_name=scope.agent_name, by_person=True)

    @property
    def texts(self) -> ChatTexts:
        """The texts in the language of the last message."""
        return TEXTS[self.language]

    @property
    def invoker(self) -> BackgroundInvoker:
        """The invoker, once it is open.

        Raises:
            ConfigError: If it cannot be opened.
        """
        return self.open().result()

    def open(self) -> Future[BackgroundInvoker]:
        """Begin to open the invoker on another thread, while the user types."""
        if self._opening is None:
            immediate = self.model is None  # the built-in model is fast, and the answer can use what it learned
            make = partial(self.memory.make_invoker, immediate=immediate, on_update=self.updates.append)
            self._opening = run_in_thread(make, "memgraph-chat")
        return self._opening

    # -- talking --

    def handle_line(self, line: str) -> None:
        """Run a command, store what the user asks to remember, or answer a message."""
        if run_command(self, line):
            return
        self.language = language_of_texts([line])
        self.invoker  # noqa: B018 - waits until the imports of its thread are done

        from langchain_core.messages import HumanMessage

        message = HumanMessage(line, id=str(uuid4()))
        words = words_to_remember(line) if self.settings.enabled else ""
        reply = self._remember(words, message) if words else ""
        if self.model is None:
            self._handle_offline(message, reply)
        else:
            self._handle_message(message, reply, self.model)

    def _remember(self, words: str, message: AnyMessage) -> str:
        """Store *words* of *message* as a manual fact; return what to reply, or "" if they cannot be stored."""
        key = fact_key(words)
        if any(fact_key(fact.content) == key for fact in self.storage.load(self.scope).facts):
            return self.texts.known_already
        evidence = self._evidence(words, message)
        try:
            memory = update_memory(
                self.storage,
                self.scope,
                lambda memory: add_fact(memory, words, evidence=evidence, by_person=True),
                policy=self.settings.policy,
            )
        except EditError as error:
            self.output.notice(str(error))
            return ""
        self.learned.append(memory.facts[-1])
        return self.texts.learned.format(join_facts(memory.facts[-1:]))

    def _evidence(self, words: str, message: AnyMessage) -> Sequence[Evidence]:
        """Return *words* as a quote of the episode that will keep *message*, if one will."""
        turn = Turn(id=message.id or "", role="human", text=str(message.text))
        thread = learned_source(self.thread)
        episode = find_episode(episodes_of([turn], thread=thread, policy=self.settings.policy), words)
        return [Evidence(episode=episode, quote=words)] if episode else []

    def _handle_message(self, question: HumanMessage, reply: str, model: BaseChatModel) -> None:
        """Answer a message and submit the turn; if the model fails, report it and submit what the user said."""
        if reply:
            self.output.line(reply)
        invoker = self.invoker
        try:
            answer = self._print_stream(self._stream_answer(model, [*self._recent, question]))
        except ModelError as error:
            self.output.end_line()
            self.output.notice(f"{error}; what you said is kept")
            invoker.submit([*self._recent, question], self.scope, self.thread)
            return
        self._keep(question, answer)
        invoker.submit(self._recent, self.scope, self.thread)
        self.print_learned()

    def _handle_offline(self, question: HumanMessage, reply: str) -> None:
        """Learn from a message, then reply what was learned; and what is known about it, unless *reply* is enough."""
        self.invoker.submit([*self._recent, question], self.scope, self.thread)
        learned = self._take_learned()
        lines = [*filter(None, [reply, learned])] if reply else [*self._reply(question, learned)]
        for line in lines:
            self.output.line(line)
        self._keep(question, "\n".join(lines), name="memory_context")  # memory does not learn from quotes of itself

    def _keep(self, question: HumanMessage, answer: str, name: str | None = None) -> None:
        from langchain_core.messages import AIMessage

        self.messages += [question, AIMessage(answer, id=str(uuid4()), name=name)]

    def _reply(self, question: AnyMessage, learned: str) -> Iterator[str]:
        text, texts = str(question.text), self.texts
        if learned:
            yield learned
        if is_question(text) or asks_for_all(text):
            yield from self._quote_memory(question)
        elif learned:
            return
        elif is_greeting(text):
            yield texts.greeting
        elif is_brief_reply(text) or is_passing_remark(text):
            yield texts.acknowledged
        else:
            is_kept = any(said.message_id == question.id for said in self._load_known()[1])
            yield texts.kept if is_kept else texts.not_kept.format(self._why_not_kept(text))

    def _why_not_kept(self, text: str) -> str:
        if not self.settings.enabled:
            return self.texts.is_off
        return "; ".join(self.refused) or problem_of(text) or self.texts.nothing_about_you

    def _quote_memory(self, question: AnyMessage) -> Iterator[str]:
        """Yield an answer of quotes: facts, and statements of the user, not the questions that were asked before."""
        text, timezone, (memory, episodes) = str(question.text), self.settings.timezone, self._load_known()
        said = [
            episode
            for episode in episodes
            if episode.author == "user" and episode.message_id != question.id and not is_question(episode.text)
        ]
        found = find_quotes(self.memory.pipeline, memory, said, text)
        quotes = [format_quote(self.texts, each, timezone) for each in found]
        if not quotes and asks_for_all(text):
            quotes = [*quote_all(memory, timezone)]
        if quotes:
            yield self.texts.remembered
            yield from (f"  {quote}" for quote in quotes)
        else:
            yield self.texts.nothing

    # -- the end --

    def finish(self) -> None:
        """Wait for pending updates, and report unfinished ones; Ctrl-C stops waiting."""
        if self._has_pending:
            self.output.begin_step("Learning from this conversation ...")
            with suppress(KeyboardInterrupt):
                self.invoker.flush(FLUSH_SECONDS)
            self.output.end_line()
        if self._has_pending:
            self.output.notice(UNFINISHED)

    def close(self) -> None:
        """Close the invoker, if it was opened; what is not learned yet stays in the outbox."""
        if self._opening and not self._opening.exception():
            self._opening.result().close(CLOSE_SECONDS)
        self.memory.close()

    def print_learned(self) -> None:
        """Print what updates have learned since the last call, on one line."""
        if line := self._take_learned():
            self.output.line(line, "dim")

    def _take_learned(self) -> str:
        """Return the line about what updates have learned since the last call; empty if nothing."""
        updates, self.updates[:] = [update for update in self.updates if update.key.scope == self.scope], []
        added = [fact for update in updates for fact in update.report.added]
        removed = [removal.fact for update in updates for removal in update.report.removed]
        self.learned += added
        self.refused = [refusal.reason for update in updates for refusal in update.report.refused]
        return format_learned(self.texts, added, removed)

    @property
    def document(self) -> dict[str, object]:
        """The conversation as a JSON document."""
        return {
            "user_id": self.scope.user_id,
            "agent_name": self.scope.agent_name,
            "thread_id": self.thread,
            "messages": [
                {"role": "user" if message.type == "human" else "assistant", "content": message.text}
                for message in self.messages
            ],
            "learned": [fact.model_dump(by_alias=True) for fact in self.learned],
        }

    def describe_model(self) -> str:
        """Return which model answers and learns, and why."""
        if self.model:
            return f"{self.choice.name} answers and learns: {self.choice.reason}."
        return f"{OFFLINE_ANSWERS} The reason: {self.choice.reason}."

    @property
    def _recent(self) -> list[AnyMessage]:
        return self.messages[-RECENT_MESSAGES:]

    @property
    def _has_pending(self) -> bool:
        return any(job.key.scope == self.scope for job in [*self.invoker.pending(), *self.invoker.failed()])

    def _load_known(self) -> tuple[MemoryDocument, Sequence[Episode]]:
        """Return the memory and the episodes; nothing if the settings turn recall off."""
        if not (self.settings.enabled and self.settings.injection_enabled):
            return MemoryDocument(), ()
        return self.storage.load(self.scope), self.storage.episodes(self.scope)

    def _stream_answer(self, model: BaseChatModel, messages: list[AnyMessage]) -> Iterator[str]:
        from memgraph.agents.nodes import with_memory

        context = self.operations.context(messages)
        try:
            for chunk in model.stream(with_memory({"messages": messages, "memory_context": context}, INSTRUCTIONS)):
                yield str(chunk.text)
        except Exception as error:  # every provider raises its own errors
            raise ModelError(f"the model did not answer: {error}") from error

    def _print_stream(self, chunks: Iterator[str]) -> str:
        """Print an answer as it arrives, and return all of it."""
        received = rest = ""
        self.output.begin_step()
        for chunk in filter(None, chunks):
            received += chunk
            ready, rest = split_shown(rest + chunk)
            self.output.begin_line(ready)
        self.output.end_line(rest)
        return received


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
    elif conversation.model is None:
        output.notice(OFFLINE_ANSWERS)
    else:
        output.line(conversation.describe_model(), "dim")
    if not conversation.settings.enabled:
        output.notice(OFF)


def _converse(conversation: Chat) -> None:
    """Answer messages until the input or the chat ends, or Ctrl-C."""
    output = conversation.output
    is_interactive = sys.stdin.isatty() and sys.stdout.isatty() and not output.as_json
    if reconfigure := getattr(sys.stdin, "reconfigure", None):
        reconfigure(errors="replace")
    if is_interactive:
        user = shown_line(format_scope(conversation.scope))
        output.line(f"User {user}. /help lists the commands, Ctrl-D ends the chat.")
        output.line(f"Memory is found by {describe_finding(conversation.settings)}.", "dim")
    conversation.open()
    try:
        for line in filter(None, read_lines(PROMPT if is_interactive else "")):
            conversation.handle_line(line)
            if conversation.is_over:
                return
    except KeyboardInterrupt:
        output.end_line()
    if is_interactive:
        output.line()
