"""memgraph chat: a conversation in the terminal, with memory of earlier ones."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from memgraph.cli.command import AgentOption, CommandContext, UserOption, add_command
from memgraph.cli.jobs import OutboxOption
from memgraph.cli.prompts import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AnyMessage

    from memgraph.background.background_invoker import BackgroundInvoker
    from memgraph.background.execution import UpdateResult
    from memgraph.models import Episode, Fact, Memory, Scope
    from memgraph.retrieval.recall import RecallPipeline
    from memgraph.settings import Settings

OFFLINE_CHOSEN = "The built-in offline model cannot chat: answers only quote the memory."
OFF = "Memory is off (enabled: false): nothing is learned or recalled."
UNFINISHED = "Not everything was learned yet: the next chat retries it (see `memgraph pending`)."
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
MAX_QUOTED_FACTS = 5
MIN_SIMILARITY = 0.5
"""For facts quoted without a model. The best match has 1."""

REPLIES: Mapping[Literal["en", "zh"], tuple[str, str, str, str]] = MappingProxyType(
    {
        "en": ("I remember: ", "; ", ".", "I know nothing about that yet."),
        "zh": ("我记得：", "；", "。", "这个我还不知道。"),
    }
)
"""By language: prefix, separator and suffix of quoted facts, and the reply without any."""

_ASKS_FOR_ALL = re.compile(r"\b(?:know|remember|recall)\b.*\bme\b|(?:知道|记得|了解)我|关于我", re.IGNORECASE)


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, chat)


def chat(
    ctx: CommandContext,
    *,
    user: UserOption,
    agent: AgentOption = None,
    thread: Annotated[
        str | None, typer.Option(metavar="THREAD", help="Name of the conversation; default: a new one.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Chat model, such as openai:gpt-4.1-mini; or offline.")
    ] = None,
    outbox: OutboxOption = None,
) -> None:
    """Chat with memory of earlier chats.

    One message per line; Ctrl-D ends the chat. Without a configured model provider, answers only quote the memory.

        memgraph chat --user ada
        memgraph chat --user ada --model claude-haiku-4-5
    """
    from uuid import uuid4

    from memgraph.background.background_invoker import BackgroundInvoker
    from memgraph.config import make_chat_model
    from memgraph.models import Scope, validate_id

    scope = Scope(user, agent)
    thread = validate_id(f"chat-{uuid4().hex[:8]}" if thread is None else thread, "thread")
    settings = ctx.settings.model_copy(update={"model_name": model} if model else {})
    settings = _resolve_model(ctx, settings)
    chat_model = make_chat_model(settings)
    updates: list[UpdateResult] = []  # appended by the invoker's threads, read by this one
    with BackgroundInvoker(
        settings=settings,
        outbox=outbox or settings.outbox,
        storage=ctx.storage,
        immediate=chat_model is None,  # the built-in model is fast, and the next answer can use what it learned
        on_update=updates.append,
    ) as invoker:
        conversation = Chat(ctx, settings, scope, thread, chat_model, invoker, updates)
        _converse(conversation)
        conversation.finish()
    conversation.print_learned()  # after close, so that no update is missed
    ctx.output.result(conversation.document)


@dataclass
class Chat:
    """One conversation: injects the memory into each answer, and submits each turn for learning."""

    ctx: CommandContext
    settings: Settings
    scope: Scope
    thread: str
    model: BaseChatModel | None
    invoker: BackgroundInvoker
    updates: list[UpdateResult]
    messages: list[AnyMessage] = field(default_factory=list["AnyMessage"])
    learned: list[Fact] = field(default_factory=list["Fact"])

    def __post_init__(self) -> None:
        from memgraph.retrieval.recall import make_recall_pipeline

        self._pipeline: RecallPipeline = make_recall_pipeline(self.settings)

    def handle_message(self, text: str) -> None:
        """Answer a user message and submit the turn for learning; if the model fails, report it and drop the turn."""
        from uuid import uuid4

        from langchain_core.messages import AIMessage, HumanMessage

        from memgraph.errors import ModelError

        question = HumanMessage(text, id=str(uuid4()))
        try:
            answer = self._print_stream(self._generate_answer([*self._recent, question]))
        except ModelError as error:
            self.ctx.output.end_line()
            self.ctx.output.notice(f"{error}; send the message again to have it learned")
            return
        name = None if self.model else "memory_context"  # memory does not learn from quotes of itself
        self.messages += [question, AIMessage(answer, id=str(uuid4()), name=name)]
        self.invoker.submit(self._recent, self.scope, self.thread)

    def finish(self) -> None:
        """Wait for pending updates, and report unfinished ones; Ctrl-C stops waiting."""
        if self._has_pending:
            self.ctx.output.begin_step("Learning from this conversation ...")
            with suppress(KeyboardInterrupt):
                self.invoker.flush(FLUSH_SECONDS)
            self.ctx.output.end_line()
        if self._has_pending:
            self.ctx.output.notice(UNFINISHED)
        self.invoker.close(CLOSE_SECONDS)

    def print_learned(self) -> None:
        """Print what updates have learned since the last call, on one line."""
        updates, self.updates[:] = [update for update in self.updates if update.key.scope == self.scope], []
        added = [fact for update in updates for fact in update.report.added]
        removed = [removal.fact for update in updates for removal in update.report.removed]
        self.learned += added
        parts = [*_join_facts("learned", added), *_join_facts("removed", removed)]
        if parts:
            self.ctx.output.line(f"({'; '.join(parts)})", "dim")

    @property
    def document(self) -> dict[str, object]:
        """The conversation as a JSON document."""
        from memgraph.cli.format import dump_fact

        return {
            "user_id": self.scope.user_id,
            "agent_name": self.scope.agent_name,
            "thread_id": self.thread,
            "messages": [
                {"role": "user" if message.type == "human" else "assistant", "content": message.text}
                for message in self.messages
            ],
            "learned": [dump_fact(fact) for fact in self.learned],
        }

    @property
    def _recent(self) -> list[AnyMessage]:
        return self.messages[-RECENT_MESSAGES:]

    @property
    def _has_pending(self) -> bool:
        return any(job.key.scope == self.scope for job in [*self.invoker.pending(), *self.invoker.failed()])

    def _load_memory(self) -> Memory:
        from memgraph.models import Memory

        is_enabled = self.settings.enabled and self.settings.injection_enabled
        return self.ctx.storage.load(self.scope) if is_enabled else Memory()

    def _load_episodes(self) -> Sequence[Episode]:
        is_enabled = self.settings.enabled and self.settings.injection_enabled
        return self.ctx.storage.episodes(self.scope) if is_enabled else ()

    def _generate_answer(self, messages: list[AnyMessage]) -> Iterator[str]:
        memory = self._load_memory()
        if self.model is None:
            yield quote_memory(memory, str(messages[-1].text))
            return
        from memgraph.agents.nodes import with_memory
        from memgraph.errors import ModelError

        context = self._pipeline(memory, messages, episodes=self._load_episodes())
        try:
            for chunk in self.model.stream(
                with_memory({"messages": messages, "memory_context": context}, INSTRUCTIONS)
            ):
                yield str(chunk.text)
        except Exception as error:  # every provider raises its own errors
            raise ModelError(f"the model did not answer: {error}") from error

    def _print_stream(self, chunks: Iterator[str]) -> str:
        """Print an answer as it arrives, and return all of it."""
        received: list[str] = []
        for chunk in chunks:
            received.append(chunk)
            self.ctx.output.begin_line(chunk)
        self.ctx.output.end_line()
        return "".join(received)


def quote_memory(memory: Memory, text: str) -> str:
    """Answer *text* by quoting matching facts, without a model."""
    from memgraph.retrieval.recall import rank_facts
    from memgraph.retrieval.supersession import resolve_superseded
    from memgraph.text.normalize import language_of

    prefix, separator, suffix, no_match = REPLIES[language_of([text])]
    superseded = resolve_superseded(memory.facts)
    facts = [fact for index, fact in enumerate(memory.facts) if index not in superseded]
    matching = [scored.fact for scored in rank_facts(facts, text) if scored.similarity >= MIN_SIMILARITY]
    if not matching and _ASKS_FOR_ALL.search(text):
        matching = [scored.fact for scored in rank_facts(facts, "")]  # highest confidence first
    quotes = separator.join(fact.content.rstrip(".。 ") for fact in matching[:MAX_QUOTED_FACTS])
    return f"{prefix}{quotes}{suffix}" if quotes else no_match


def _resolve_model(ctx: CommandContext, settings: Settings) -> Settings:
    """Print which model answers, and return *settings* with its name."""
    from memgraph.config import choose_model
    from memgraph.config.providers import HOW_TO_CHOOSE
    from memgraph.llm import OFFLINE

    choice = choose_model(settings)
    if choice.is_fallback:
        ctx.output.notice(f"Answers only quote the memory: {choice.reason}; {HOW_TO_CHOOSE}.")
    elif choice.name == OFFLINE:
        ctx.output.notice(OFFLINE_CHOSEN)
    else:
        ctx.output.line(f"Model: {choice.name}", "dim")
    if not settings.enabled:
        ctx.output.notice(OFF)
    return settings.model_copy(update={"model_name": choice.name})


def _converse(conversation: Chat) -> None:
    """Answer messages until the input ends, or Ctrl-C."""
    output = conversation.ctx.output
    is_interactive = sys.stdin.isatty() and sys.stdout.isatty() and not output.as_json
    if reconfigure := getattr(sys.stdin, "reconfigure", None):
        reconfigure(errors="replace")
    if is_interactive:
        output.line("Ctrl-D ends the chat.", "dim")
    try:
        for text in filter(None, read_lines(PROMPT if is_interactive else "")):
            conversation.handle_message(text)
            conversation.print_learned()
    except KeyboardInterrupt:
        output.end_line()
    if is_interactive:
        output.line()


def _join_facts(label: str, facts: Sequence[Fact]) -> list[str]:
    from memgraph.cli.output import one_line

    return [f"{label}: {' '.join(one_line(fact.content) for fact in facts)}"] if facts else []
