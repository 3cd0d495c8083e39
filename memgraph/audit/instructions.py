"""Prompt-like text: a memory is read by a model, so what is in it may try to command one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from memgraph.audit.finding import Finding, of_fact, of_section
from memgraph.models import Memory

WHY = "it reads like an instruction to a model"

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
            yield of_fact("instruction", fact, WHY)
    for name, section in memory.sections():
        if PATTERNS.search(section.summary):
            yield of_section("instruction", name, section.summary, WHY)
