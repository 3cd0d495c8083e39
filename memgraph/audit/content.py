"""Checks of single facts and summaries by their content: secrets, instructions, uploads, wrong subject, no content."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from memgraph.audit.findings import Finding, episode_finding, fact_finding, section_finding
from memgraph.models import Episode, MemoryDocument
from memgraph.policy import Policy
from memgraph.retrieval.terms import extract_terms
from memgraph.text.orders import FOR_ASSISTANT, INSTRUCTION, SELF, TO_ASSISTANT
from memgraph.text.secrets import find_secrets, redact
from memgraph.text.uploads import mentions_upload, without_uploads

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
    for fact in memory.facts:
        if INSTRUCTION.search(f"{fact.content}\n{fact.source_error or ''}"):
            yield fact_finding("instruction", _INSTRUCTION_REASON, fact)
    for name, section in memory.sections():
        if INSTRUCTION.search(section.summary):
            yield section_finding("instruction", name, section.summary, _INSTRUCTION_REASON)


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
    for fact in memory.facts:
        if secret := next(find_secrets(f"{fact.content}\n{fact.source_error or ''}"), None):
            yield fact_finding("secret", f"it contains {secret.kind}", fact)
    for name, section in memory.sections():
        if secret := next(find_secrets(section.summary), None):
            why = f"it contains {secret.kind}"
            yield section_finding("secret", name, section.summary, why, redact(section.summary))


def secrets_in_episodes(episodes: Iterable[Episode]) -> Iterator[Finding]:
    """Find what was kept before its kind of secret was known, or was added by hand: new episodes have it masked."""
    for episode in episodes:
        if secret := next(find_secrets(episode.text), None):
            yield episode_finding("secret", episode, f"it contains {secret.kind}", redact(episode.text))


def uploads(memory: MemoryDocument, _now: datetime) -> Iterator[Finding]:
    """Find mentions of files that the user uploaded."""
    for fact in memory.facts:
        if mentions_upload(fact.content):
            yield fact_finding("upload", _UPLOAD_REASON, fact)
    for name, section in memory.sections():
        cleaned = without_uploads(section.summary)
        if cleaned != section.summary:
            yield section_finding("upload", name, section.summary, _UPLOAD_REASON, cleaned)
