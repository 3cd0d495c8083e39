"""memgraph chat: a conversation in the terminal, with somebody who remembers the ones before."""

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
    from memgraph.models import Fact, Memory, Scope
    from memgraph.retrieval.recall import RecallPipeline
    from memgraph.settings import Settings

NO_PROVIDER = (
    "No provider is configured (set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own), "
    "so the answers come only from what is remembered."
)
OFFLINE_CHOSEN = "The built-in offline model cannot talk, so the answers come only from what is remembered."
OFF = "Memory is off (enabled: false), so nothing is learned and nothing is recalled."
KEPT = "Not all of it was learned: it is kept, and tried again by the next chat (`memgraph pending` shows it)."
INSTRUCTIONS = (
    "You are a helpful assistant in a terminal: answer briefly, in plain text. "
    "Use what you know about the user where it helps, without reciting it."
)
PROMPT = "you> "

RECENT_MESSAGES = 40
"""Of a long conversation this much is shown to the model, and handed over to be learned from."""
FLUSH_SECONDS = 60.0
"""How long the end of a chat waits until all is learned; what is not by then is kept."""
CLOSE_SECONDS = 1.0
"""How long it waits then for what runs, which is kept too."""
MOST_TOLD = 5
LEAST_SIMILARITY = 0.5
"""Of facts told without a model, beside the one that fits best, which has 1."""

REPLIES: Mapping[Literal["en", "zh"], tuple[str, str, str, str]] = MappingProxyType(
    {
        "en": ("I remember: ", "; ", ".", "I know nothing about that yet."),
        "zh": ("我记得：", "；", "。", "这个我还不知道。"),
    }
)
"""By language: how facts begin, are joined and end, and what is said where there are none."""

_ABOUT_ALL = re.compile(r"\b(?:know|remember|recall)\b.*\bme\b|(?:知道|记得|了解)我|关于我", re.IGNORECASE)


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, chat)


def chat(
    ctx: CommandContext,
    *,
    user: UserOption,
    agent: AgentOption = None,
    thread: Annotated[
        str | None, typer.Option(metavar="THREAD", help="Which conversation it is; default: a new one.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="MODEL", help="Such as openai:gpt-4.1-mini, or offline.")] = None,
    outbox: OutboxOption = None,
) -> None:
    """Talk, and be remembered the next time.

    One message a line; Ctrl-D ends it. With no provider configured the answers are what is remembered.
    """
    from uuid import uuid4

    from memgraph.background.background_invoker import BackgroundInvoker
    from memgraph.config import make_chat_model
    from memgraph.models import Scope, validate_id

    scope = Scope(user, agent)
    thread = validate_id(f"chat-{uuid4().hex[:8]}" if thread is None else thread, "thread")
    settings = ctx.settings.model_copy(update={"model_name": model} if model else {})
    talker = make_chat_model(settings)
    _say_model(ctx, settings)
    updates: list[UpdateResult] = []  # filled by the invoker's threads, read by this one
    with BackgroundInvoker(
        settings=settings,
        outbox=outbox or settings.outbox,
        storage=ctx.storage,
        immediate=talker is None,  # the next answer should know, and the built-in model takes no time
        on_update=updates.append,
    ) as invoker:
        talk = Chat(ctx, settings, scope, thread, talker, invoker, updates)
        _converse(talk)
        talk.finish()
    talk.print_learned()  # once it is closed, no update is left to be told of
    ctx.output.result(talk.document)


@dataclass
class Chat:
    """One conversation: each answer is given with what is remembered, and each turn is handed over to be learned."""

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

        self._recaller: RecallPipeline = make_recall_pipeline(self.settings)

    def turn(self, text: str) -> None:
        """Answer what the user says, and have it learned from. Where the model fails that is said, and no more."""
        from uuid import uuid4

        from langchain_core.messages import AIMessage, HumanMessage

        from memgraph.errors import ModelError

        said = HumanMessage(text, id=str(uuid4()))
        try:
            answer = self._shown(self._answer([*self._recent, said]))
        except ModelError as error:
            self.ctx.output.end_line()
            self.ctx.output.notice(f"{error}; say it again to have it learned")
            return
        name = None if self.model else "memory_context"  # so that memory does not learn from itself
        self.messages += [said, AIMessage(answer, id=str(uuid4()), name=name)]
        self.invoker.submit(self._recent, self.scope, self.thread)

    def finish(self) -> None:
        """Learn what waits, or say that it is kept; Ctrl-C ends the waiting."""
        if self._waiting:
            self.ctx.output.line("Learning from this conversation ...", "dim")
            with suppress(KeyboardInterrupt):
                self.invoker.flush(FLUSH_SECONDS)
        if self._waiting:
            self.ctx.output.notice(KEPT)
        self.invoker.close(CLOSE_SECONDS)

    def print_learned(self) -> None:
        """Say what updates learned since this was last said, on one line."""
        done, self.updates[:] = [update for update in self.updates if update.key.scope == self.scope], []
        added = [fact for update in done for fact in update.report.added]
        removed = [gone.fact for update in done for gone in update.report.removed]
        self.learned += added
        parts = [*_named("learned", added), *_named("no longer so", removed)]
        if parts:
            self.ctx.output.line(f"({'; '.join(parts)})", "dim")

    @property
    def document(self) -> dict[str, object]:
        """The conversation as JSON."""
        from memgraph.cli.format import fact_document

        return {
            "user_id": self.scope.user_id,
            "agent_name": self.scope.agent_name,
            "thread_id": self.thread,
            "messages": [
                {"role": "user" if message.type == "human" else "assistant", "content": message.text}
                for message in self.messages
            ],
            "learned": [fact_document(fact) for fact in self.learned],
        }

    @property
    def _recent(self) -> list[AnyMessage]:
        return self.messages[-RECENT_MESSAGES:]

    @property
    def _waiting(self) -> bool:
        return any(job.key.scope == self.scope for job in [*self.invoker.pending(), *self.invoker.failed()])

    def _memory(self) -> Memory:
        from memgraph.models import Memory

        is_told = self.settings.enabled and self.settings.injection_enabled
        return self.ctx.storage.load(self.scope) if is_told else Memory()

    def _answer(self, messages: list[AnyMessage]) -> Iterator[str]:
        memory = self._memory()
        if self.model is None:
            yield answer_from(memory, str(messages[-1].text))
            return
        from memgraph.agents.nodes import with_memory
        from memgraph.errors import ModelError

        told = self._recaller(memory, messages)
        try:
            for part in self.model.stream(with_memory({"messages": messages, "memory_context": told}, INSTRUCTIONS)):
                yield str(part.text)
        except Exception as error:  # each provider has errors of its own
            raise ModelError(f"the model did not answer: {error}") from error

    def _shown(self, parts: Iterator[str]) -> str:
        """Show an answer as it comes, and return all of it."""
        said: list[str] = []
        for part in parts:
            said.append(part)
            self.ctx.output.begin_line(part)
        self.ctx.output.end_line()
        return "".join(said)


def answer_from(memory: Memory, text: str) -> str:
    """Answer *text* with the facts that fit it, and nothing else."""
    from memgraph.retrieval.recall import rank_facts
    from memgraph.retrieval.supersession import resolve_superseded
    from memgraph.text.normalize import language_of

    opening, joint, end, nothing = REPLIES[language_of([text])]
    replaced = resolve_superseded(memory.facts)
    facts = [fact for place, fact in enumerate(memory.facts) if place not in replaced]
    fitting = [scored.fact for scored in rank_facts(facts, text) if scored.similarity >= LEAST_SIMILARITY]
    if not fitting and _ABOUT_ALL.search(text):
        fitting = [scored.fact for scored in rank_facts(facts, "")]  # the surest first
    told = joint.join(fact.content.rstrip(".。 ") for fact in fitting[:MOST_TOLD])
    return f"{opening}{told}{end}" if told else nothing


def _say_model(ctx: CommandContext, settings: Settings) -> None:
    from memgraph.config import default_model, has_explicit_model
    from memgraph.llm import OFFLINE

    name = default_model(settings)
    if name != OFFLINE:
        ctx.output.line(f"Model: {name}", "dim")
    else:
        ctx.output.notice(OFFLINE_CHOSEN if has_explicit_model(settings) else NO_PROVIDER)
    if not settings.enabled:
        ctx.output.notice(OFF)


def _converse(talk: Chat) -> None:
    """Talk until the input ends, or Ctrl-C."""
    output = talk.ctx.output
    is_typed = sys.stdin.isatty() and sys.stdout.isatty() and not output.as_json
    if reconfigure := getattr(sys.stdin, "reconfigure", None):
        reconfigure(errors="replace")
    if is_typed:
        output.line("Ctrl-D ends the chat.", "dim")
    try:
        for text in filter(None, read_lines(PROMPT if is_typed else "")):
            talk.turn(text)
            talk.print_learned()
    except KeyboardInterrupt:
        output.end_line()
    if is_typed:
        output.line()


def _named(what: str, facts: Sequence[Fact]) -> list[str]:
    from memgraph.cli.output import one_line

    return [f"{what}: {' '.join(one_line(fact.content) for fact in facts)}"] if facts else []
