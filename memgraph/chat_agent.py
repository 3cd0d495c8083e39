"""The agent of `memgraph chat` and of the page: answers with the memory of its user, and learns from each message.

Without a chat model it answers with what it learned, and with quotes of what it knows, in the user's language.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple
from uuid import uuid4

from memgraph._concurrency import Closing, run_in_thread
from memgraph.analysis.admission import problem_of
from memgraph.analysis.dates import local_date
from memgraph.analysis.episodes import episodes_of, find_episode, kept_words
from memgraph.analysis.normalize import fact_key, single_line
from memgraph.analysis.remarks import is_passing_remark
from memgraph.analysis.requests import is_brief_reply, is_greeting, is_question, words_to_remember
from memgraph.analysis.terms import extract_words
from memgraph.analysis.words import language_of_texts
from memgraph.editing import add_fact, update_memory
from memgraph.errors import EditError, ModelError
from memgraph.models import Episode, Evidence, Fact, MemoryDocument, Scope, Turn, learned_source
from memgraph.opened import OpenMemory
from memgraph.operations import Operations
from memgraph.retrieval.query import asks_in_general
from memgraph.retrieval.results import ScoredEpisode, ScoredFact
from memgraph.settings import Settings
from memgraph.storage import MemoryStorage

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AnyMessage, HumanMessage

    from memgraph.background.background_invoker import BackgroundInvoker
    from memgraph.background.execution import UpdateResult
    from memgraph.retrieval.pipeline import RecallPipeline

INSTRUCTIONS = (
    "You are a helpful assistant: answer briefly, in plain text. "
    "Use what you know about the user when it helps, without reciting it."
)
Language = Literal["en", "zh"]
PieceKind = Literal["line", "answer", "memory", "notice"]

RECENT_MESSAGES = 40
"""Latest messages of a long conversation that are sent to the model and submitted for learning."""
CLOSE_SECONDS = 1.0
"""Maximum wait for running updates when the agent is closed; they stay in the outbox."""
MAX_QUOTED = 5
"""Maximum facts and episodes in a reply."""
MAX_LISTED = 20
"""Maximum facts in a reply to what asks for all of them."""
MAX_CANDIDATES = 20
"""Results of a search from which they are taken."""


@dataclass(frozen=True, slots=True)
class ChatTexts:
    """The texts of the chat in one language, by default in English."""

    remembered: str = "I remember:"
    nothing: str = "I know nothing about that yet."
    learned: str = "Learned: {}"
    kept: str = "Kept your words."
    kept_in_part: str = "Kept your words, except what looks like a secret or an instruction to a model."
    before: str = "(Before: {})"
    quote: str = '"{}"'
    greeting: str = "Hello! Introduce yourself, or ask what I remember."
    acknowledged: str = "All right."
    not_kept: str = "I did not keep that: {}."
    is_off: str = "memory is off"
    nothing_about_you: str = "I found nothing about you in it"
    known_already: str = "I know that already."


TEXTS: Mapping[Language, ChatTexts] = MappingProxyType(
    {
        "en": ChatTexts(),
        "zh": ChatTexts(
            remembered="我记得：",
            nothing="这个我还不知道。",
            learned="学到了：{}",
            kept="你的原话我记下了。",
            kept_in_part="你的原话我记下了，但不包括看起来像机密或给模型的指令的部分。",
            before="（之前：{}）",
            quote="“{}”",
            greeting="你好！跟我说说你自己，或者问我记得什么。",
            acknowledged="好的。",
            not_kept="这个我没有记下：{}。",
            is_off="记忆已关闭",
            nothing_about_you="其中没有关于你的内容",
            known_already="这个我已经知道了。",
        ),
    }
)


class Piece(NamedTuple):
    """A piece of a reply."""

    kind: PieceKind
    """A whole line, a chunk of the model's answer, a line about what was learned or kept, or what went wrong."""
    text: str


@dataclass
class ChatAgent(Closing):
    """One conversation: injects the memory into each answer, and submits each turn for learning."""

    memory: OpenMemory
    scope: Scope
    thread: str
    model: BaseChatModel | None
    """None is the offline model, which learns but cannot answer."""
    immediate: bool
    """Whether a reply waits until its message is learned from."""
    language: Language = "en"
    """Of the last message."""
    messages: list[AnyMessage] = field(default_factory=list["AnyMessage"])
    learned: list[Fact] = field(default_factory=list["Fact"])
    refused: list[str] = field(default_factory=list[str])
    """Why something of the last message was not kept."""
    updates: list[UpdateResult] = field(default_factory=list["UpdateResult"])
    """Appended by the invoker's threads, read by this one."""
    _opening: Future[BackgroundInvoker] | None = None

    # -- parts, which are opened late: importing them takes longer than all that happens before the first message --

    @property
    def settings(self) -> Settings:
        """The settings of the memory."""
        return self.memory.settings

    @property
    def storage(self) -> MemoryStorage:
        """The storage of the memory."""
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
            make = partial(self.memory.make_invoker, immediate=self.immediate, on_update=self.updates.append)
            self._opening = run_in_thread(make, "memgraph-chat")
        return self._opening

    def close(self) -> None:
        """Close the invoker, if it was opened; the next message opens another one."""
        opening, self._opening = self._opening, None
        if opening and not opening.exception():
            opening.result().close(CLOSE_SECONDS)

    # -- talking --

    def reply(self, text: str) -> Iterator[Piece]:
        """Answer a message, store what it asks to remember and learn from it; yields the reply as it is made.

        Raises:
            StorageError: If the memory cannot be read or written.
            OutboxError: If the message could not be stored.
        """
        self.language = language_of_texts([text])
        self.invoker  # noqa: B018 - waits until the imports of its thread are done

        from langchain_core.messages import HumanMessage

        message, stored = HumanMessage(text, id=str(uuid4())), ""
        if self.settings.enabled and (words := words_to_remember(text)):
            try:
                stored = self._remember(words, message)
            except EditError as error:
                yield Piece("notice", str(error))
        if stored:
            yield Piece("memory", stored)
        if self.model is None:
            yield from self._reply_offline(message, stored)
        else:
            yield from self._reply_by_model(message, self.model)

    def take_learned(self) -> str:
        """Return the line about what updates have learned since the last call; empty if nothing."""
        updates, self.updates[:] = [update for update in self.updates if update.key.scope == self.scope], []
        added = [fact for update in updates for fact in update.report.added]
        removed = [removal.fact for update in updates for removal in update.report.removed]
        self.learned += added
        self.refused = [refusal.reason for update in updates for refusal in update.report.refused]
        parts = ((self.texts.learned, added), (self.texts.before, removed))
        return " ".join(text.format(join_facts(facts)) for text, facts in parts if facts)

    def _remember(self, words: str, message: AnyMessage) -> str:
        """Store *words* of *message* as a manual fact, and return what to reply.

        Raises:
            EditError: If they cannot be stored.
        """
        key = fact_key(words)
        if any(fact_key(fact.content) == key for fact in self.storage.load(self.scope).facts):
            return self.texts.known_already
        evidence = self._evidence(words, message)
        memory = update_memory(
            self.storage,
            self.scope,
            lambda memory: add_fact(memory, words, evidence=evidence, by_person=True),
            policy=self.settings.policy,
        )
        self.learned.append(memory.facts[-1])
        return self.texts.learned.format(join_facts(memory.facts[-1:]))

    def _evidence(self, words: str, message: AnyMessage) -> Sequence[Evidence]:
        """Return *words* as a quote of the episode that will keep *message*, if one will."""
        turn = Turn(id=message.id or "", role="human", text=str(message.text))
        thread = learned_source(self.thread)
        episode = find_episode(episodes_of([turn], thread=thread, policy=self.settings.policy), words)
        return [Evidence(episode=episode, quote=words)] if episode else []

    def _reply_by_model(self, question: HumanMessage, model: BaseChatModel) -> Iterator[Piece]:
        """Answer a message and submit the turn; if the model fails, report it and submit what the user said."""
        from memgraph.agents.nodes import with_memory

        yield Piece("answer", "")  # the first chunk may take long
        messages, answer = [*self._recent, question], ""
        context = self.operations.context(messages)
        try:
            for chunk in model.stream(with_memory({"messages": messages, "memory_context": context}, INSTRUCTIONS)):
                answer += str(chunk.text)
                yield Piece("answer", str(chunk.text))
        except Exception as error:  # noqa: BLE001 - every provider raises its own errors
            yield Piece("notice", f"the model did not answer: {error}; what you said is kept")
            self._submit(messages)
            return
        self._keep(question, answer)
        if problem := self._submit(self._recent):
            yield Piece("notice", f"{problem}; what you said is kept")
        elif learned := self.take_learned():
            yield Piece("memory", learned)
        elif self.immediate and not is_question(str(question.text)) and (kept := self._describe_kept(question)):
            yield Piece("memory", kept)

    def _reply_offline(self, question: HumanMessage, stored: str) -> Iterator[Piece]:
        """Learn from a message, then reply what was learned; and what is known about it, unless *stored* is enough."""
        self._submit([*self._recent, question])
        learned = self.take_learned()
        pieces = [Piece("memory", learned)] if learned else []
        if not stored:
            pieces += self._quote_or_note(question, is_learned=bool(learned))
        yield from pieces
        answer = "\n".join([*filter(None, [stored]), *(piece.text for piece in pieces)])
        self._keep(question, answer, name="memory_context")  # memory does not learn from quotes of itself

    def _submit(self, messages: Sequence[AnyMessage]) -> str:
        """Submit *messages* for learning; returns why the model that learns failed, which is retried later."""
        try:
            self.invoker.submit(messages, self.scope, self.thread)
        except ModelError as error:
            return str(error)
        return ""

    def _keep(self, question: HumanMessage, answer: str, name: str | None = None) -> None:
        from langchain_core.messages import AIMessage

        self.messages += [question, AIMessage(answer, id=str(uuid4()), name=name)]

    def _quote_or_note(self, question: AnyMessage, *, is_learned: bool) -> Iterator[Piece]:
        text, texts = str(question.text), self.texts
        if is_question(text) or asks_in_general(text):
            yield from (Piece("line", line) for line in self._quote_memory(question))
        elif is_learned:
            return
        elif is_greeting(text):
            yield Piece("line", texts.greeting)
        elif is_brief_reply(text) or is_passing_remark(text):
            yield Piece("line", texts.acknowledged)
        elif kept := self._describe_kept(question):
            yield Piece("memory", kept)
        else:
            why = "; ".join(self.refused) or problem_of(text) or texts.nothing_about_you
            yield Piece("memory", texts.not_kept.format(why if self.settings.enabled else texts.is_off))

    def _describe_kept(self, question: AnyMessage) -> str:
        """Return the line about a message that an episode keeps; empty if none does."""
        text, texts = str(question.text), self.texts
        is_kept = any(said.message_id == question.id for said in self.storage.episodes(self.scope))
        return (texts.kept if kept_words(text) == text else texts.kept_in_part) if is_kept else ""

    def _quote_memory(self, question: AnyMessage) -> Iterator[str]:
        """Yield an answer of quotes: facts, and statements of the user, not the questions that were asked before."""
        text, timezone, memory, said = str(question.text), self.settings.timezone, MemoryDocument(), list[Episode]()
        if self.settings.enabled and self.settings.injection_enabled:
            memory, said = self.storage.load(self.scope), self.storage.episodes(self.scope)
        said = [
            episode
            for episode in said
            if episode.author == "user" and episode.message_id != question.id and not is_question(episode.text)
        ]
        every = sorted(_current_facts(memory), key=lambda fact: -fact.confidence) if asks_in_general(text) else []
        quotes = [format_fact_line(fact, timezone) for fact in every[:MAX_LISTED]] or [
            format_quote(self.texts, each, timezone) for each in find_quotes(self.memory.pipeline, memory, said, text)
        ]
        if quotes:
            yield self.texts.remembered
            yield from (f"  {quote}" for quote in quotes)
        else:
            yield self.texts.nothing

    @property
    def _recent(self) -> list[AnyMessage]:
        return self.messages[-RECENT_MESSAGES:]


def new_thread() -> str:
    """Return the name of a new conversation."""
    return f"chat-{uuid4().hex[:8]}"


def join_facts(facts: Sequence[Fact]) -> str:
    """Return the facts as sentences on one line."""
    return " ".join(single_line(fact.shown) for fact in facts)


def find_quotes(
    pipeline: RecallPipeline, memory: MemoryDocument, episodes: Sequence[Episode], text: str
) -> Sequence[ScoredFact | ScoredEpisode]:
    """Return the facts that answer *text*, and what the user said about it that they do not cover, the best first."""
    current = {fact.id for fact in _current_facts(memory)}
    found = pipeline.search(memory, text, episodes=episodes, limit=MAX_CANDIDATES)
    facts = [each for each in found if isinstance(each, ScoredFact) and each.fact.id in current]
    said = [each for each in found if not isinstance(each, ScoredFact) and not _is_covered(each, facts)]
    return sorted((*facts, *said), key=lambda each: -each.score)[:MAX_QUOTED]


def _is_covered(said: ScoredEpisode, facts: Sequence[ScoredFact]) -> bool:
    """Return whether one of *facts* was learned from *said*, or later has the same of the question: it is current."""
    terms = _matched_terms(said)
    return any(
        said.episode.id in {item.episode for item in each.fact.evidence}
        or (terms <= _matched_terms(each) and said.episode.at <= (each.fact.said_at or each.fact.created_at))
        for each in facts
    )


def _matched_terms(found: ScoredFact | ScoredEpisode) -> set[str]:
    """Return the terms of the question that the text itself has, without its quotes and the turn before."""
    text = found.fact.content if isinstance(found, ScoredFact) else found.episode.text
    return {term for word, term in extract_words(text) if word in found.matched}


def _current_facts(memory: MemoryDocument) -> list[Fact]:
    """Return the facts that no other one of the memory supersedes."""
    from memgraph.retrieval.memory_index import resolve_superseded

    superseded = resolve_superseded(memory.facts)
    return [fact for position, fact in enumerate(memory.facts) if position not in superseded]


def format_quote(texts: ChatTexts, found: ScoredFact | ScoredEpisode, timezone: str) -> str:
    """Return a fact, or the user's own words in quotation marks, with the day on which it was said."""
    if isinstance(found, ScoredFact):
        return format_fact_line(found.fact, timezone)
    ended = f" ({single_line(found.ended)})" if found.ended else ""
    quoted = texts.quote.format(single_line(found.episode.text))
    return f"{_with_day(quoted, local_date(found.episode.at, timezone))}{ended}"


def format_fact_line(fact: Fact, timezone: str) -> str:
    """Return a fact with the day since which it is true, or on which it was said or written."""
    return _with_day(
        single_line(fact.shown), single_line(fact.valid_from) or local_date(fact.said_at or fact.created_at, timezone)
    )


def _with_day(text: str, day: str) -> str:
    return f"{text} ({day})" if day else text
