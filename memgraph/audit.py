"""Audit: find problems in a memory by rules, and suggest fixes. Memory in, findings out.

To add a check, write a function `(MemoryDocument, now) -> Iterator[Finding]` and add it to CHECKS.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from memgraph.analysis.date_phrases import DateMention, find_dates
from memgraph.analysis.dates import local_day, parse_time
from memgraph.analysis.normalize import fact_key, shorten
from memgraph.analysis.orders import FOR_ASSISTANT, INSTRUCTION, SELF, TO_ASSISTANT
from memgraph.analysis.secrets import find_secrets, mask, redact
from memgraph.analysis.similarity import SimilarityIndex, is_richer
from memgraph.analysis.terms import extract_terms
from memgraph.analysis.uploads import mentions_upload, without_uploads
from memgraph.models import Episode, Fact, MemoryDocument, SectionName, timestamp
from memgraph.models.dates import days_of
from memgraph.policy import Policy
from memgraph.retrieval.slot_values import by_single_slot, states_other
from memgraph.rules.merge import SAME, may_be_same

Kind = Literal[
    "secret", "instruction", "about_assistant", "upload", "duplicate", "contradiction", "stale", "meaningless"
]

QUOTED_CHARS = 200
"""Maximum characters of a text that a finding quotes."""


class Finding(BaseModel):
    """A problem in a fact, a pair of facts, a summary or an episode. Without a suggestion, a person has to decide."""

    model_config = ConfigDict(frozen=True)

    kind: Kind
    facts: tuple[str, ...] = ()
    """Ids of the affected facts."""
    section: SectionName | None = None
    """The affected summary."""
    episode: str | None = None
    """Id of the affected episode."""
    what: str
    """The affected text, with secrets masked."""
    why: str
    """What is wrong with it."""
    remove: tuple[str, ...] = ()
    """Ids of the facts to remove."""
    rewrite: str | None = None
    """The new text of the summary or the episode."""

    @property
    def is_fixable(self) -> bool:
        """Whether a fix is suggested."""
        return bool(self.remove) or self.rewrite is not None


def fact_finding(kind: Kind, why: str, *facts: Fact, remove: bool = True) -> Finding:
    """Return a finding about one fact or a pair that suggests to remove the last one, unless it is manual."""
    last = facts[-1]
    return Finding(
        kind=kind,
        facts=tuple(fact.id for fact in facts),
        what=" / ".join(shorten(mask(fact.content), QUOTED_CHARS) for fact in facts),
        why=why,
        remove=(last.id,) if remove and not last.is_manual else (),
    )


def text_finding(
    kind: Kind, why: str, text: str, *, section: SectionName | None = None, episode: str | None = None
) -> Finding:
    """Return a finding about a summary or an episode that suggests to rewrite it, if its kind has a rewrite."""
    rewrite = REWRITES[kind](text) if kind in REWRITES else None
    return Finding(
        kind=kind, section=section, episode=episode, what=shorten(mask(text), QUOTED_CHARS), why=why, rewrite=rewrite
    )


REWRITES: Mapping[Kind, Callable[[str], str]] = {"secret": redact, "upload": without_uploads}
"""Rewrites of summaries and episodes by kind. Several may apply to one summary, so they run one after the other."""


# -- content ----------------------------------------------------------------------------------------

ABOUT_ASSISTANT = re.compile(
    rf"\s*(?:{SELF}\s+(?:is|was|has|had|can|cannot|can't|could|did|does|doesn't|said|told|suggested|recommended|explained|"
    r"provided|offered|answered|replied|helped|apologi[sz]ed|asked|agreed|promised|gave|will|responded|mentioned)\b"
    r"|as an ai\b|i am an ai\b|i'm an ai\b"
    r"|(?:AI|人工智能)?助手(?:是|说|建议|回答|提供|无法|不能|可以|表示|已经|帮)|作为(?:一个|一名)?(?:AI|人工智能))",
    re.IGNORECASE,
)
_INSTRUCTION_REASON = "it reads like an instruction to a model"
_UPLOAD_REASON = "it mentions an uploaded file, which no longer exists"


def about_assistant(memory: MemoryDocument, _now: datetime) -> Iterator[Finding]:
    """Find facts about the assistant. A request to it may be a preference, so removing that is not suggested."""
    for fact in memory.facts:
        if fact.effective_category == "correction":
            continue
        if ABOUT_ASSISTANT.match(fact.content):
            yield fact_finding("about_assistant", "it is about the assistant, not about the user", fact)
        elif FOR_ASSISTANT.match(fact.content) or TO_ASSISTANT.match(fact.content):
            why = "it is a request to the assistant; if it is a preference of the user, rewrite it: Prefers ..."
            yield fact_finding("about_assistant", why, fact, remove=False)


def instructions(memory: MemoryDocument, _now: datetime) -> Iterator[Finding]:
    """Find text that a model may take for an instruction. For a summary, no fix is suggested."""
    return _in_texts(memory, "instruction", lambda text: _INSTRUCTION_REASON if INSTRUCTION.search(text) else None)


def _in_texts(memory: MemoryDocument, kind: Kind, problem_of: Callable[[str], str | None]) -> Iterator[Finding]:
    """Find facts and summaries whose text has a problem."""
    for fact in memory.facts:
        if why := problem_of(f"{fact.content}\n{fact.source_error or ''}"):
            yield fact_finding(kind, why, fact)
    for name, section in memory.sections():
        if why := problem_of(section.summary):
            yield text_finding(kind, why, section.summary, section=name)


def meaningless(memory: MemoryDocument, _now: datetime) -> Iterator[Finding]:
    """Find facts without any word, facts of a single word, and facts that are too long."""
    longest = Policy().max_fact_chars
    for fact in memory.facts:
        if not any(character.isalnum() for character in fact.content):
            yield fact_finding("meaningless", "it has no content", fact)
        elif len(fact.content) > longest:
            why = f"it has {len(fact.content):,} characters; a fact has at most {longest:,}"
            yield fact_finding("meaningless", why, fact, remove=False)
        elif len(extract_terms(fact.content)) <= 1 and len(fact.content.split()) == 1:
            yield fact_finding("meaningless", "it is a single word without context", fact, remove=False)


def secrets(memory: MemoryDocument, _now: datetime) -> Iterator[Finding]:
    """Find keys, passwords and card numbers."""
    return _in_texts(memory, "secret", _secret_in)


def _secret_in(text: str) -> str | None:
    secret = next(find_secrets(text), None)
    return f"it contains {secret.kind}" if secret else None


def secrets_in_episodes(episodes: Iterable[Episode]) -> Iterator[Finding]:
    """Find what was kept before its kind of secret was known, or was added by hand: new episodes have it masked."""
    for episode in episodes:
        if why := _secret_in(episode.text):
            yield text_finding("secret", why, episode.text, episode=episode.id)


def uploads(memory: MemoryDocument, _now: datetime) -> Iterator[Finding]:
    """Find mentions of files that the user uploaded."""
    for fact in memory.facts:
        if mentions_upload(fact.content):
            yield fact_finding("upload", _UPLOAD_REASON, fact)
    for name, section in memory.sections():
        if without_uploads(section.summary) != section.summary:
            yield text_finding("upload", _UPLOAD_REASON, section.summary, section=name)


# -- staleness --------------------------------------------------------------------------------------

DATE_GRACE_DAYS = 30
"""Days after which a date has passed."""
TEMPORARY_DAYS = 90
"""Days after which a statement about a day or a week is over."""
CURRENT_DAYS = 365
"""Days after which a statement about the present may be outdated."""
UNCERTAIN_DAYS = 365
"""Days after which an uncertain fact that was never confirmed needs a look."""
MIN_CERTAIN_CONFIDENCE = 0.75

_FUTURE = re.compile(
    r"\b(?:by|until|till|before|due|deadline|scheduled|planned|plans?|planning|going to|aims?|wants?|will|upcoming)\b"
    r"|截止|之前|计划|打算|将要|将于|目标|准备",
    re.IGNORECASE,
)
_CURRENT = re.compile(r"\b(?:currently|right now|at the moment|these days|for now)\b|目前|眼下|最近", re.IGNORECASE)


def stale(memory: MemoryDocument, now: datetime) -> Iterator[Finding]:
    """Find facts that are outdated. Removing a manual fact is never suggested."""
    for fact in memory.facts:
        expired = (f"it was true until {fact.valid_until}", True) if fact.has_expired(timestamp(now)) else None
        if result := expired or _check_staleness(fact, now):
            why, is_over = result
            yield fact_finding("stale", why, fact, remove=is_over)


def _check_staleness(fact: Fact, now: datetime) -> tuple[str, bool] | None:
    """Return why *fact* is stale, and whether that is certain; None if it is not stale."""
    date = _passed_date(fact, now)
    if date and (fact.effective_category == "goal" or _FUTURE.search(fact.content)):
        return f"it is about the future until {date}, which has passed", True
    said = parse_time(fact.said_last)
    if said is None or fact.effective_category == "correction":
        return None
    days = (now - said).days
    if days > TEMPORARY_DAYS and (words := _relative_date(fact, now)):
        return f"{words!r} is {days:,} days old", True
    if days > CURRENT_DAYS and (match := _CURRENT.search(fact.content)):
        return f"{match[0]!r} is {days:,} days old", False
    if days > UNCERTAIN_DAYS and fact.confidence < MIN_CERTAIN_CONFIDENCE and not fact.is_manual:
        return f"its confidence is low ({fact.confidence:.2f}), and it was not confirmed for {days:,} days", False
    return None


def _passed_date(fact: Fact, now: datetime) -> str | None:
    """Return the last date that *fact* names, as it is written, if it has passed."""
    named = [(days.last, mention) for mention in _mentions(fact, now) if (days := days_of(mention.date or ""))]
    if not named:
        return None
    end, mention = max(named)
    return fact.content[mention.start : mention.end] if (now.date() - end).days > DATE_GRACE_DAYS else None


def _relative_date(fact: Fact, now: datetime) -> str | None:
    """Return the first words of *fact* for a time near the day on which it was said, such as "this week"."""
    texts = (fact.content[mention.start : mention.end] for mention in _mentions(fact, now))
    return next((text for text in texts if not any(map(str.isdecimal, text))), None)


def _mentions(fact: Fact, now: datetime) -> tuple[DateMention, ...]:
    return find_dates(fact.content, local_day(fact.said_last) or now.date())


# -- pairs ------------------------------------------------------------------------------------------

MAX_RIVALS = 3
"""The newest values of an attribute, with which the others are compared: all pairs would be quadratically many."""

Pair = tuple[Fact, Fact, str]
"""Two facts, and why they contradict each other."""


def duplicates(memory: MemoryDocument, _now: datetime) -> Iterator[Finding]:
    """Find facts that state the same. Manual facts are kept, then the more detailed, then the newer."""
    kept: dict[str, Fact] = {}
    left: list[Fact] = []
    for fact in sorted(memory.facts, key=_value, reverse=True):
        key = fact_key(fact.content)
        if key and key in kept:
            yield fact_finding("duplicate", "they have the same content", kept[key], fact)
        else:
            kept[key] = fact
            left.append(fact)
    removed = set[str]()
    for index, other_index, _ in SimilarityIndex([fact.content for fact in left]).pairs(SAME):
        one, other = left[index], left[other_index]
        if removed.isdisjoint((one.id, other.id)) and may_be_same(one, other):
            is_better = is_richer(other.content, one.content) and not one.is_manual
            better, worse = (other, one) if is_better else (one, other)
            removed.add(worse.id)
            yield fact_finding("duplicate", "they state the same in other words", better, worse)


def _value(fact: Fact) -> tuple[bool, float, str, str]:
    return fact.is_manual, fact.confidence, fact.said_last, fact.id


def contradictions(memory: MemoryDocument, _now: datetime) -> Iterator[Finding]:
    """Find facts that exclude each other. Removing the older is suggested; if they are equally old, nothing is."""
    seen = set[frozenset[str]]()
    checks = (_replaced_facts, _conflicting_slots, _opposed_facts)
    for one, other, why in (pair for check in checks for pair in check(memory)):
        ids = frozenset((one.id, other.id))
        if ids not in seen:
            seen.add(ids)
            newer, older = (one, other) if one.said_last >= other.said_last else (other, one)
            yield fact_finding("contradiction", why, newer, older, remove=newer.said_last != older.said_last)


def _replaced_facts(memory: MemoryDocument) -> Iterator[Pair]:
    for fact in memory.facts:
        for old_id in fact.replaces:
            if (old := memory.fact(old_id)) and old.id != fact.id:
                yield fact, old, "the newer one replaced the other, which is still there"


def _conflicting_slots(memory: MemoryDocument) -> Iterator[Pair]:
    filling = by_single_slot(fact for fact in memory.facts if fact.effective_category != "correction")
    for slot, facts in filling.items():
        facts.sort(key=lambda fact: fact.said_last, reverse=True)
        for index, one in enumerate(facts[:MAX_RIVALS]):
            for other in facts[index + 1 :]:
                if states_other(one, other):
                    yield one, other, f"there can be one {slot} only"


def _opposed_facts(memory: MemoryDocument) -> Iterator[Pair]:
    current = [fact for fact in memory.facts if fact.effective_category != "correction"]
    for one, other in SimilarityIndex([fact.content for fact in current]).opposed():
        yield current[one], current[other], "one denies the other"


# -- all checks -------------------------------------------------------------------------------------

Check = Callable[[MemoryDocument, datetime], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    secrets,
    instructions,
    about_assistant,
    uploads,
    duplicates,
    contradictions,
    stale,
    meaningless,
)
"""The checks in the order in which findings are shown: the most harmful first."""


def audit(memory: MemoryDocument, now: datetime, episodes: Sequence[Episode] = ()) -> tuple[Finding, ...]:
    """Return the problems that rules can find in *memory*. Secrets in the findings are masked.

    Args:
        memory: Any memory.
        now: The current time, with a time zone.
        episodes: Its episodes, which are checked for secrets.
    """
    found = tuple(finding for check in CHECKS for finding in check(memory, now))
    return (*secrets_in_episodes(episodes), *found)


# -- fixes ------------------------------------------------------------------------------------------


def apply_fixes(memory: MemoryDocument, findings: Iterable[Finding]) -> MemoryDocument:
    """Return *memory* with the fixes that *findings* suggest. Manual facts are never removed."""
    findings = tuple(findings)
    removed = {fact_id for finding in findings for fact_id in finding.remove}
    fixed = memory.with_facts(tuple(fact for fact in memory.facts if fact.is_manual or fact.id not in removed))
    for finding in findings:
        if finding.section and finding.kind in REWRITES:
            section = fixed.section(finding.section)
            text = REWRITES[finding.kind](section.summary)
            fixed = fixed.with_section(finding.section, section.model_copy(update={"summary": text}))
    return fixed


def rewritten_episodes(episodes: Iterable[Episode], findings: Iterable[Finding]) -> list[Episode]:
    """Return those of *episodes* that *findings* are about, with the texts that they suggest."""
    texts = {finding.episode: finding.rewrite for finding in findings if finding.rewrite is not None}
    return [episode.model_copy(update={"text": texts[episode.id]}) for episode in episodes if episode.id in texts]
