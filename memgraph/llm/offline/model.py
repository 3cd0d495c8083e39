"""The offline chat model: reads the update prompt, answers by rules."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NotRequired, TypedDict

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from memgraph.llm.offline.extraction import find_all
from memgraph.llm.offline.rules import Extraction, Section
from memgraph.llm.offline.sentences import MAX_CHARS
from memgraph.llm.offline.supersession import find_ended, resolve_finding
from memgraph.prompts.update_prompt import ShownFact, ShownTurn, read_facts, read_turns
from memgraph.text.normalize import unescape

SECTION_NAMES = (
    "workContext", "personalContext", "topOfMind", "recentMonths", "earlierContext", "longTermBackground",
)  # fmt: skip


MAX_ESCAPED = 5 * MAX_CHARS + 100
"""Maximum characters of an escaped turn: escaping makes at most five of one."""


class Reading(NamedTuple):
    """The parts of an update prompt."""

    turns: tuple[ShownTurn, ...]
    known: tuple[ShownFact, ...]
    summaries: Mapping[str, str]
    has_summaries: bool
    """Whether summaries are asked for."""


def read_prompt(prompt: str, *, has_summaries: bool = True) -> Reading:
    """Read *prompt*; missing parts are empty."""
    turns = tuple(read_turns(_shortened(prompt)))
    return Reading(turns, tuple(read_facts(prompt)), dict(_summaries(prompt)), has_summaries)


def _shortened(prompt: str) -> str:
    """Return the turns of *prompt*, each cut to the part that is read: unescaping megabytes would take seconds."""
    *turns, _ = prompt.partition("<conversation>")[2].split("</turn>")
    return "".join(f"{turn[:MAX_ESCAPED]}</turn>" for turn in turns)


def _summaries(prompt: str) -> list[tuple[str, str]]:
    lines = prompt.partition("<summaries>\n")[2].partition("\n</summaries>")[0].split("\n")
    named = [(name, text.strip()) for name, colon, text in (line.partition(":") for line in lines) if colon]
    return [(name, unescape(text)) for name, text in named if name in SECTION_NAMES and text != "(empty)"]


MAX_SUMMARY_CHARS = 1_200
"""A summary of this length is not extended: cutting it would lose information."""


def write_summaries(
    findings: Sequence[Extraction], existing: Mapping[str, str], outdated: Sequence[str]
) -> dict[str, str]:
    """Return new texts for the summaries that change. *outdated* are facts that are no longer true."""
    sections: tuple[Section, ...] = ("workContext", "personalContext", "topOfMind")
    written = [(section, _summarize(section, findings, existing.get(section, ""), outdated)) for section in sections]
    return {section: text for section, text in written if text and text != existing.get(section, "")}


def _summarize(section: Section, findings: Sequence[Extraction], text: str, outdated: Sequence[str]) -> str:
    for content in outdated:
        text = text.replace(_with_full_stop(content), "").strip()
    for finding in findings:
        if (
            finding.section == section
            and finding.category != "correction"
            and finding.content.casefold().rstrip(".。") not in text.casefold()
        ):
            longer = _append_sentence(text, _with_full_stop(finding.content))
            text = longer if len(longer) <= MAX_SUMMARY_CHARS else text
    return text


def _append_sentence(text: str, sentence: str) -> str:
    if not text:
        return sentence
    text = text if text.endswith((".", "。", "!", "?", "！", "？")) else _with_full_stop(text)
    return f"{text}{'' if text.endswith(('。', '！', '？')) else ' '}{sentence}"


def _with_full_stop(content: str) -> str:
    if content.endswith((".", "。")):
        return content
    return f"{content}。" if any("\u4e00" <= character <= "\u9fff" for character in content) else f"{content}."


class OfflineFact(TypedDict):
    turn: int
    quote: str
    content: str
    category: str
    confidence: float
    date: NotRequired[str]
    sourceError: NotRequired[str]
    replaces: NotRequired[list[str]]


class Removed(TypedDict):
    id: str
    reason: str


class Summary(TypedDict):
    section: str
    text: str


class OfflineAnswer(TypedDict):
    newFacts: list[OfflineFact]
    factsToRemove: NotRequired[list[Removed]]
    summaries: NotRequired[list[Summary]]


def answer(reading: Reading) -> OfflineAnswer:
    """Return the update for the conversation in *reading*."""
    findings = _last_of_each_slot(find_all(reading.turns))
    additions = (resolve_finding(finding, reading.known) for finding in findings if not finding.ends)
    resolved = [addition for addition in additions if addition is not None]
    removed = _removed(findings, resolved, reading.known)
    outdated = [fact.content for fact in reading.known if fact.id in removed]
    found: OfflineAnswer = {"newFacts": [_new_fact(finding, replaced) for finding, replaced in resolved]}
    if removed:
        found["factsToRemove"] = [{"id": fact_id, "reason": reason} for fact_id, reason in removed.items()]
    texts = write_summaries([finding for finding, _ in resolved], reading.summaries, outdated)
    if texts and reading.has_summaries:
        found["summaries"] = [{"section": name, "text": text} for name, text in texts.items()]
    return found


def render(answer: OfflineAnswer) -> str:
    """Return *answer* as compact JSON that can be encoded as UTF-8."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace").decode("utf-8")


def _last_of_each_slot(findings: Sequence[Extraction]) -> list[Extraction]:
    """Of several values of one slot the last counts; a tentative one only if there is no other."""
    certain_last = sorted(findings, key=lambda finding: not finding.tentative)
    last = {finding.slot: finding for finding in certain_last if finding.slot and not finding.ends}
    return [finding for finding in findings if finding.ends or not finding.slot or last[finding.slot] is finding]


def _removed(
    findings: Sequence[Extraction], resolved: Sequence[tuple[Extraction, tuple[str, ...]]], known: Sequence[ShownFact]
) -> dict[str, str]:
    replaced = {fact_id: f"Replaced by: {finding.content}" for finding, ids in resolved for fact_id in ids}
    over = {
        fact.id: "The user said it is over."
        for finding in findings
        if finding.ends
        for fact in find_ended(finding, known)
    }
    return over | replaced


def _new_fact(finding: Extraction, replaced: Sequence[str]) -> OfflineFact:
    fact: OfflineFact = {
        "turn": finding.turn,
        "quote": finding.quote,
        "content": finding.content,
        "category": finding.category,
        "confidence": finding.confidence,
    }
    if finding.date:
        fact["date"] = finding.date
    if finding.source_error:
        fact["sourceError"] = finding.source_error
    if replaced:
        fact["replaces"] = list(replaced)
    return fact


class OfflineChatModel(BaseChatModel):
    """Learns what users state plainly of themselves, in English and Chinese, by rules.

    It answers the update prompt and nothing else. It would rather miss a fact than
    store a wrong one; the same prompt always has the same answer.
    """

    @property
    def _llm_type(self) -> str:
        return "memgraph-offline"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - so is this
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - so is this
        **kwargs: Any,  # noqa: ANN401, ARG002 - the signature is BaseChatModel's
    ) -> ChatResult:
        reading = read_prompt(_prompt(messages), has_summaries=_asks_for_summaries(messages))
        message = AIMessage(render(answer(reading)))
        return ChatResult(generations=[ChatGeneration(message=message)])


def _prompt(messages: list[BaseMessage]) -> str:
    """Return the last human message that contains a conversation, or an empty text."""
    texts = (message.text for message in reversed(messages) if isinstance(message, HumanMessage))
    return next((text for text in texts if "<conversation>" in text), "")


def _asks_for_summaries(messages: list[BaseMessage]) -> bool:
    """Return whether the rules mention summaries, as they do unless these are left to the upkeep."""
    rules = [message.text for message in messages if isinstance(message, SystemMessage)]
    return not rules or any("summar" in text for text in rules)
