"""Which known facts a new statement repeats, replaces or ends."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memgraph.llm.offline import chinese_entities, english_entities
from memgraph.llm.offline.rules import LANGUAGES, Extraction, holders, pattern
from memgraph.prompts.update_prompt import ShownFact

_SIDE_JOB = re.compile(
    r"\b(?:former|aspiring|retired|future|amateur|hobby|wannabe|would-be|part-time)\b|student|owner|founder|writer|author|artist|musician|photographer|freelancer|coach|tutor|volunteer|学生|作家|作者|博主|志愿者",
    re.IGNORECASE,
)


class SlotValue(NamedTuple):
    """The slot that a known fact fills, and its value."""

    slot: str
    value: str


def find_slot(content: str) -> SlotValue | None:
    """Return the slot and value of *content*, by any author; None if unclear."""
    for slot, shape in (holder for language in LANGUAGES for holder in holders(language)):
        match = shape.fullmatch(content.strip()[:300])
        if match is not None and (slot != "role" or _is_main_job(match["x"])):
            kind = match.groupdict().get("k")
            return SlotValue(f"{slot}:{kind.casefold()}" if kind else slot, _plain(match["x"]))
    return None


def _is_main_job(value: str) -> bool:
    """Return whether *value* is a profession that people have only one of."""
    job = english_entities.job(value) or chinese_entities.job(value)
    return job is not None and _SIDE_JOB.search(job) is None


def resolve_finding(finding: Extraction, known: Sequence[ShownFact]) -> tuple[Extraction, tuple[str, ...]] | None:
    """Return *finding*, in the words of the known fact that it repeats, and the ids of the facts it replaces.

    None if it is tentative and contradicts a known fact.
    """
    new = find_slot(finding.content)
    if new is None or not finding.slot or finding.slot == "origin":
        return finding, ()
    rivals = [(fact, old) for fact in known if (old := find_slot(fact.content)) is not None and old.slot == new.slot]
    for fact, old in rivals:
        if _says(old.value, new.value, exactly=new.slot == "name"):
            return finding._replace(content=fact.content), ()
    return None if rivals and finding.tentative else (finding, tuple(fact.id for fact, _ in rivals))


def find_ended(finding: Extraction, known: Iterable[ShownFact]) -> list[ShownFact]:
    """Return the known facts that *finding* ends."""
    return [fact for fact in known if _is_about(fact, finding)]


def _is_about(fact: ShownFact, finding: Extraction) -> bool:
    value = _plain(finding.content)
    if finding.slot:
        old = find_slot(fact.content)
        return old is not None and old.slot == finding.slot and _says(old.value, value)
    is_passion = any(pattern(language, "passion").match(fact.content) for language in LANGUAGES)
    if fact.category == "correction" or not is_passion:
        return False
    return _says(_plain(fact.content), value)


def _says(text: str, value: str, *, exactly: bool = False) -> bool:
    """Return whether *text* contains *value* as a whole word."""
    return text == value or (
        not exactly and re.search(rf"(?<![A-Za-z]){re.escape(value)}(?![A-Za-z])", text) is not None
    )


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .。")
