"""Three of the six summaries: what is there, and the new facts under it."""

from collections.abc import Mapping, Sequence

from memgraph.llm.offline.finding import Finding
from memgraph.llm.offline.tables import Section

MAX_CHARS = 1_200
"""A summary this long takes nothing more: cutting it would lose what stands in it."""


def write_summaries(
    findings: Sequence[Finding], existing: Mapping[str, str], outdated: Sequence[str]
) -> dict[str, str]:
    """New texts for the summaries that have news. *outdated* are facts that no longer hold."""
    sections: tuple[Section, ...] = ("workContext", "personalContext", "topOfMind")
    written = [(section, _summary(section, findings, existing.get(section, ""), outdated)) for section in sections]
    return {section: text for section, text in written if text and text != existing.get(section, "")}


def _summary(section: Section, findings: Sequence[Finding], text: str, outdated: Sequence[str]) -> str:
    for content in outdated:
        text = text.replace(_ended(content), "").strip()
    for finding in findings:
        if (
            finding.section == section
            and finding.category != "correction"
            and finding.content.casefold().rstrip(".。") not in text.casefold()
        ):
            longer = _joined(text, _ended(finding.content))
            text = longer if len(longer) <= MAX_CHARS else text
    return text


def _joined(text: str, sentence: str) -> str:
    if not text:
        return sentence
    text = text if text.endswith((".", "。", "!", "?", "！", "？")) else _ended(text)
    return f"{text}{'' if text.endswith(('。', '！', '？')) else ' '}{sentence}"


def _ended(content: str) -> str:
    if content.endswith((".", "。")):
        return content
    return f"{content}。" if any("\u4e00" <= character <= "\u9fff" for character in content) else f"{content}."
