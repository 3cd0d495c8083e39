"""Operations on facts, summaries and pending changes."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import Field

from memgraph.editing import add_fact, edit_fact, edit_section, remove_fact
from memgraph.editing.facts import DEFAULT_CATEGORY, DEFAULT_CONFIDENCE, find_any_fact, find_fact
from memgraph.editing.update import FactWords, remove_words
from memgraph.errors import EditError
from memgraph.models import (
    AcceptedKind,
    ChangeOrigin,
    Fact,
    MemoryDocument,
    PendingChange,
    PersonDecision,
    Section,
    SectionName,
)
from memgraph.operations.session import CategoryName, Confidence, FactId, MemorySession, Text
from memgraph.review import PendingVerdict
from memgraph.rules.decide import accept_pending, always_accept, ask_again, find_pending, reject_pending
from memgraph.sections import section_name

SourceError = Annotated[Text, Field(description="The corrected mistake; corrections only.")]


class RemovedWithWords(NamedTuple):
    """A removed fact, and what the user said that it rested on."""

    fact: Fact
    words: FactWords


class FactOperations(MemorySession):
    """What a caller reads and changes by hand."""

    def facts(
        self,
        *,
        user_id: str | None = None,
        category: Annotated[str | None, Field(max_length=100, description="Only facts of this category.")] = None,
        all: Annotated[  # noqa: A002 - as over HTTP
            bool, Field(description="Also claims that are kept as the user said them, after the facts.")
        ] = False,
    ) -> tuple[Fact, ...]:
        """Return the facts, the oldest first; with *all* also the claims that are kept as said, each an `AsSaid`."""
        memory = self._load(user_id)
        found = memory.recallable if all else memory.facts
        return tuple(fact for fact in found if category in (None, fact.category))

    def fact(self, fact_id: FactId, *, user_id: str | None = None) -> Fact:
        """Return a fact, or a claim that is kept as said.

        Raises:
            EditError: If there is no such fact.
        """
        memory = self._load(user_id)
        return memory.said_claim(fact_id) or find_fact(memory, fact_id)

    def remember(
        self,
        content: Annotated[Text, Field(description="The fact, in 1 to 2,000 characters.")],
        *,
        user_id: str | None = None,
        category: CategoryName = DEFAULT_CATEGORY,
        confidence: Confidence = DEFAULT_CONFIDENCE,
        source_error: SourceError | None = None,
    ) -> Fact:
        """Add a fact word for word, with secrets masked. It is manual: updates never remove it.

        Raises:
            EditError: If *content* is invalid or known already, orders a model, or has what an agent may act with.
        """
        changed = self._change(
            user_id,
            lambda memory: add_fact(
                memory,
                content,
                category=category,
                confidence=confidence,
                source_error=source_error,
                categories=self._policy.category_names,
                by_person=self._by_person,
            ),
        )
        return changed.after.facts[-1]

    def update(
        self,
        fact_id: FactId,
        content: Text | None = None,
        *,
        user_id: str | None = None,
        category: CategoryName | None = None,
        confidence: Confidence | None = None,
        source_error: SourceError | None = None,
    ) -> Fact:
        """Change a fact, or a claim that is kept as said; it is a manual fact from then on.

        Raises:
            EditError: If there is no such fact, or a value is invalid.
        """
        changed = self._change(
            user_id,
            lambda memory: edit_fact(
                memory,
                fact_id,
                content=content,
                category=category,
                confidence=confidence,
                source_error=source_error,
                categories=self._policy.category_names,
                by_person=self._by_person,
            ),
        )
        return find_fact(changed.after, fact_id)

    def delete(
        self,
        fact_id: FactId,
        *,
        user_id: str | None = None,
        keep_words: Annotated[
            bool, Field(description="Keep the sentences that only this fact rests on, in which recall would find it.")
        ] = False,
    ) -> RemovedWithWords:
        """Remove a fact, current or past, and the sentences that only this fact rests on, unless *keep_words*.

        Raises:
            EditError: If there is no such fact.
        """
        changed = self._change(user_id, lambda memory: remove_fact(memory, fact_id))
        removed, scope = find_any_fact(changed.before, fact_id), self._scope(user_id)
        if keep_words:
            return RemovedWithWords(removed, FactWords((), ()))
        return RemovedWithWords(removed, remove_words(self.storage, scope, changed.after, removed, self._policy))

    def write_summary(
        self,
        name: Annotated[
            SectionName,
            Field(
                min_length=1,
                max_length=40,
                description="A summary of the setting `sections`, or one that the memory has; by default workContext, "
                "personalContext, topOfMind, recentMonths, earlierContext or longTermBackground.",
            ),
        ],
        summary: Annotated[
            str, Field(max_length=20_000, description="At most 1,000 tokens; an empty text removes the summary.")
        ],
        *,
        user_id: str | None = None,
    ) -> Section:
        """Replace the text of a summary.

        Raises:
            EditError: If there is no such summary, or the text is not admitted.
        """
        section, names = section_name(name), self._policy.section_names
        changed = self._change(
            user_id, lambda memory: edit_section(memory, section, summary, sections=names, by_person=self._by_person)
        )
        return changed.after.section(section)

    def pending(self, *, user_id: str | None = None) -> tuple[PendingChange, ...]:
        """Return the changes that wait for a person, the oldest first: what a rule held back or `review` asks for."""
        return self._load(user_id).pending

    def decide(
        self,
        change_id: Annotated[str, Field(max_length=200, description="The id of the pending change.")],
        verdict: PendingVerdict,
        *,
        user_id: str | None = None,
        text: Annotated[str | None, Field(min_length=1, max_length=10_000)] = None,
    ) -> PendingChange:
        """Accept a pending change, which applies it to the memory, or reject it, so that it is not proposed again.

        Args:
            change_id: Its id.
            verdict: `accept`, `reject`, or `always`, which accepts further new facts of its category too.
            user_id: Whose memory; default: that of the client.
            text: Another wording of its only fact or summary.

        Raises:
            AlreadyDecidedError: If it does not wait any more.
            EditError: If *text* is not allowed.
        """
        if text is not None and verdict != "accept":
            raise EditError("a change with another text can only be accepted")

        def change(memory: MemoryDocument) -> MemoryDocument:
            if verdict == "accept":
                return accept_pending(memory, change_id, text=text)
            return (always_accept if verdict == "always" else reject_pending)(memory, change_id)

        decision = PersonDecision(item=change_id, verdict="edit" if text is not None else verdict)
        changed = self._change(user_id, change, ChangeOrigin(decisions=(decision,)))
        return find_pending(changed.before, change_id)

    def accepted_kinds(self, *, user_id: str | None = None) -> tuple[AcceptedKind, ...]:
        """Return of which categories new facts are saved without a review, since a person has decided so."""
        return self._load(user_id).accepted_kinds

    def ask_again(
        self,
        category: Annotated[str, Field(min_length=1, max_length=100, description="One of the accepted kinds.")],
        *,
        user_id: str | None = None,
    ) -> tuple[AcceptedKind, ...]:
        """Let new facts of a category wait for a review again; return what is still accepted.

        Raises:
            EditError: If they are not always accepted.
        """
        return self._change(user_id, lambda memory: ask_again(memory, category)).after.accepted_kinds
