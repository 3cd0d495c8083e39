"""About the assistant: a memory is of the user."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from memgraph.audit.findings import Finding, fact_finding, section_finding
from memgraph.audit.secrets import find_secrets, redact
from memgraph.models import Memory
from memgraph.policy import Policy
from memgraph.retrieval.terms import extract_terms
from memgraph.text.uploads import mentions_upload, without_uploads

_SELF = r"(?:the\s+)?(?:ai\s+)?(?:assistant|chatbot|language model|ai model|llm)"
SAYS = re.compile(
    rf"\s*(?:{_SELF}\s+(?:is|was|has|had|can|cannot|can't|could|did|does|doesn't|said|told|suggested|recommended|explained|"
    r"provided|offered|answered|replied|helped|apologi[sz]ed|asked|agreed|promised|gave|will|responded|mentioned)\b"
    r"|as an ai\b|i am an ai\b|i'm an ai\b"
    r"|(?:AI|人工智能)?助手(?:是|说|建议|回答|提供|无法|不能|可以|表示|已经|帮)|作为(?:一个|一名)?(?:AI|人工智能))",
    re.IGNORECASE,
)
ORDERS = re.compile(
    rf"\s*(?:{_SELF}\s+(?:should|must|needs to|has to|is expected to)\b|you\s+(?:should|must|are|have to|need to)\b"
    r"|(?:AI|人工智能)?助手(?:应该|应当|必须|需要|要)|你(?:应该|必须|要))",
    re.IGNORECASE,
)


def about_assistant(memory: Memory, now: datetime) -> Iterator[Finding]:
    """Find facts about the assistant. What it should do may be a wish of the user's: that is for a person to judge."""
    del now
    for fact in memory.facts:
        if fact.effective_category == "correction":
            continue
        if SAYS.match(fact.content):
            yield fact_finding("about_assistant", fact, "it is about the assistant, not about the user")
        elif ORDERS.match(fact.content):
            why = "it tells the assistant what to do; if it is a wish of the user's, say so: Prefers ..."
            yield fact_finding("about_assistant", fact, why, remove=False)


LOOKS_LIKE_INSTRUCTION = "it reads like an instruction to a model"

PATTERNS = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|all|any|your|system)\b"
    r"[^.\n]{0,30}\b(?:instructions?|prompts?|rules?|directives?|guidelines?|guardrails?)\b"
    r"|\b(?:reveal|print|repeat|show|leak)\b[^.\n]{0,20}\b(?:system prompt|your (?:instructions|prompt|rules))\b"
    r"|\byou are now\b|\bfrom now on,? you\b|\bdo anything now\b|\bdeveloper mode\b|\bjailbreak(?:ed)?\b"
    r"|^\s*(?:system|assistant|developer)\s*:"
    r"|<\|[a-z_]{2,30}\|>|\[/?INST\]|<<SYS>>"
    r"|</?(?:memory|system|instructions?|assistant|tool_call|function_call)>"
    r"|\{\s*\"(?:name|tool|function)\"\s*:\s*\"[^\"]{1,60}\"\s*,\s*\"(?:arguments|parameters|args)\"\s*:"
    r"|(?:忽略|无视|忘记)[^。\n]{0,10}(?:之前|以上|上述|所有|先前|前面)[^。\n]{0,10}(?:指令|指示|提示|规则|要求)"
    r"|从现在开始,?，?你(?:是|要|必须)",
    re.IGNORECASE | re.MULTILINE,
)


def instructions(memory: Memory, now: datetime) -> Iterator[Finding]:
    """Find what a model might take for an instruction. Of a summary no more is suggested than to look."""
    del now
    for fact in memory.facts:
        if PATTERNS.search(f"{fact.content}\n{fact.source_error or ''}"):
            yield fact_finding("instruction", fact, LOOKS_LIKE_INSTRUCTION)
    for name, section in memory.sections():
        if PATTERNS.search(section.summary):
            yield section_finding("instruction", name, section.summary, LOOKS_LIKE_INSTRUCTION)


def meaningless(memory: Memory, now: datetime) -> Iterator[Finding]:
    """Find facts without a word, of a single one, and over-long ones."""
    del now
    longest = Policy().max_fact_chars
    for fact in memory.facts:
        if not any(character.isalnum() for character in fact.content):
            yield fact_finding("meaningless", fact, "it says nothing")
        elif len(fact.content) > longest:
            why = f"it has {len(fact.content):,} characters; a fact has at most {longest:,}"
            yield fact_finding("meaningless", fact, why, remove=False)
        elif len(extract_terms(fact.content)) <= 1 and len(fact.content.split()) == 1:
            yield fact_finding("meaningless", fact, "it is a single word, which says little by itself", remove=False)


def secrets(memory: Memory, now: datetime) -> Iterator[Finding]:
    """Find keys, passwords and card numbers."""
    del now
    for fact in memory.facts:
        if what := next(find_secrets(f"{fact.content}\n{fact.source_error or ''}"), None):
            yield fact_finding("secret", fact, f"it holds {what[0]}")
    for name, section in memory.sections():
        if what := next(find_secrets(section.summary), None):
            yield section_finding("secret", name, section.summary, f"it holds {what[0]}", redact(section.summary))


MENTIONS_UPLOAD = "it says a file was uploaded, which is gone by now"


def uploads(memory: Memory, now: datetime) -> Iterator[Finding]:
    """Find what says that a file was given to the assistant."""
    del now
    for fact in memory.facts:
        if mentions_upload(fact.content):
            yield fact_finding("upload", fact, MENTIONS_UPLOAD)
    for name, section in memory.sections():
        left = without_uploads(section.summary)
        if left != section.summary:
            yield section_finding("upload", name, section.summary, MENTIONS_UPLOAD, left)
