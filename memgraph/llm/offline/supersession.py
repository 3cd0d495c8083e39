"""Which known facts a new statement repeats, replaces or ends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memgraph.llm.offline.extraction import Extraction
from memgraph.llm.offline.slot_statements import Filled, find_known_slot
from memgraph.prompts.update_prompt import ShownFact
from memgraph.text.normalize import fold
from memgraph.text.slots import packaged_slots


def resolve(finding: Extraction, known: Sequence[ShownFact]) -> tuple[Extraction, tuple[str, ...]] | None:
    """Return *finding*, in the words of the known fact that it repeats, and the ids of the facts it replaces.

    None if it is tentative and contradicts a known fact, or only ends a known fact.
    """
    if finding.ended and find_ended(finding.ended, known):
        return None
    if finding.filled is None or (finding.filled.content and find_known_slot(finding.content) is None):
        return finding, ()
    rivals = list(_holding(finding.slot, known))
    for fact, value in rivals:
        if _says(value, finding.filled.value, exactly=finding.slot == "name"):
            return (finding._replace(content=fact.content) if finding.filled.content else finding), ()
    if rivals and finding.is_tentative:
        return None
    return finding, tuple(fact.id for fact, _ in rivals)


def find_ended(ended: Filled, known: Sequence[ShownFact]) -> list[ShownFact]:
    """Return the known facts that a statement about *ended* ends."""
    return [fact for fact, value in _holding(ended.slot, known) if _says(value, ended.value)]


def _holding(slot: str | None, known: Sequence[ShownFact]) -> Iterator[tuple[ShownFact, str]]:
    """Yield the known facts that fill *slot*, each with its value."""
    # asking about one slot first compiles and tries the patterns of that slot only, which most facts do not match
    stating = (fact for fact in known if slot and packaged_slots().states(fact.content, (slot,)))
    for fact in stating:
        if (old := find_known_slot(fact.content)) and old.slot == slot:
            yield fact, old.value


def _says(text: str, value: str, *, exactly: bool = False) -> bool:
    """Return whether *text* contains *value* as a whole word, in any case."""
    text, value = _plain(text), _plain(value)
    whole = rf"(?<![A-Za-z]){re.escape(value)}(?![A-Za-z])"
    return text == value if exactly else re.search(whole, text) is not None


def _plain(text: str) -> str:
    return " ".join(fold(text).split()).strip(" .。")
