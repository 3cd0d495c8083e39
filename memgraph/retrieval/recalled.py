"""Recalled text: what memory gave a conversation, recognised when it comes back in a message.

An agent's prompt has the memory, so that its answers repeat it, and users paste it. Such text confirms nothing and adds
nothing. A user who restates a fact in their own sentence ("I live in Lisbon") is not repeating memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from memgraph.analysis.normalize import words_of
from memgraph.analysis.provenance import cues
from memgraph.analysis.sentences import sentences
from memgraph.analysis.terms import STOP_WORDS, extract_terms
from memgraph.models import SECTIONS, MemoryDocument, Span, Turn
from memgraph.models.conversation import merge_spans
from memgraph.retrieval.render import GROUPS, OPENING, PROFILE, QUOTES, SUMMARY_TITLES
from memgraph.sections import section_title

MIN_BULLETS = 2
"""Items of a list that are in memory: fewer may be the user's own."""
MIN_WORDS = 2
"""Words of a sentence that can be recognised."""
MIN_SHARE_OF_TEXT = 0.8
"""Share of the terms of a text that are in one entry of memory: no more than a word is new."""
MIN_SHARE_OF_ENTRY = 0.6
"""Share of the terms of this entry that are in the text."""
MAX_CHARS = 2_000
"""Characters of an item or sentence that are compared."""
MAX_COMPARED = 200
"""Maximum sentences of a message that are compared with memory."""
_USER = frozenset({"user", "用户", "用", "户"})

_LINE = re.compile(r"^[^\n]+", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*(?:[-*•·]|\d{1,2}[.)、])[ \t]+")
_FRAMES = tuple(text.strip() for text in (OPENING.partition("\n")[2], QUOTES))
"""Lines that only memory renders."""
_HEADINGS = frozenset(heading.strip() for heading in (PROFILE, *SUMMARY_TITLES, *GROUPS) if heading)
_FRAME_LINE = re.compile(r"[ \t]*(?:</?memory>|Today is \d{4}-\d\d-\d\d\.|\d{4}(?:-\d\d){0,2}:)?[ \t]*")
_TITLES = tuple(title for titles in SUMMARY_TITLES.values() for title in titles.values())
_PAST = re.compile(r"(?:until|said) \d{4}(?:-\d\d)?: ")
_SINCE = re.compile(r"(?<=\S) \(since \d{4}(?:-\d\d)?\)$")
_NOTES = re.compile(r"(?<=\S) (?:\((?:uncertain|avoid: [^()\n]{0,500})\) ?){1,2}$")
_BEGIN = re.compile(r"(?:^|[^\w\s,])[ \t]*+(?=\w)", re.MULTILINE)
_NUMBER = re.compile(r"\d+")


def with_recalled(turns: Sequence[Turn], memory: MemoryDocument) -> tuple[Turn, ...]:
    """Return *turns* with the spans of what they repeat of *memory*, in addition to those that they have."""
    entries = Entries(memory)
    found = ((turn, find_recalled(turn.text, entries)) for turn in turns)
    return tuple(
        turn.model_copy(update={"spans": merge_spans([*turn.spans, *spans])}) if spans else turn
        for turn, spans in found
    )


class Entries:
    """What memory may give a conversation: facts, the quotes that they rest on, and the sentences of summaries."""

    def __init__(self, memory: MemoryDocument) -> None:
        self._memory = memory

    def contain(self, text: str) -> bool:
        """Return whether *text* is one of the entries, or a close paraphrase that adds nothing."""
        words = _words(text)
        # not more than half of the words, since terms are stems
        near = [entry for entry, known in self._entries if words and 2 * len(words & known) >= len(words)]
        own, *others = (set(terms) - _USER for terms in map(extract_terms, [text, *near]))
        numbers = set(_NUMBER.findall(text))
        return any(
            _is_repeated(own, terms) and numbers <= set(_NUMBER.findall(entry))
            for terms, entry in zip(others, near, strict=True)
        )

    @cached_property
    def title(self) -> re.Pattern[str]:
        """The title of a summary."""
        custom = (section_title(name) for name in self._memory.custom_sections if name not in SECTIONS)
        return re.compile(rf"(?:{'|'.join((*_TITLES, *map(re.escape, custom)))}):[ \t]*")

    @cached_property
    def past(self) -> Entries:
        """What held before: memory gives it with the month until which it held."""
        return Entries(MemoryDocument(facts=self._memory.past))

    @cached_property
    def _entries(self) -> Sequence[tuple[str, frozenset[str]]]:
        """The entries, each with its words."""
        facts = self._memory.facts
        texts = [
            *(fact.content for fact in facts),
            *(evidence.quote for fact in self._memory.recallable for evidence in fact.evidence),
            *(sentence for _, section in self._memory.sections() for sentence in sentences(section.summary)),
        ]
        return [(text, _words(text)) for text in dict.fromkeys(texts)]


def _words(text: str) -> frozenset[str]:
    return frozenset(words_of(text)) - STOP_WORDS


def _is_repeated(terms: set[str], entry: set[str]) -> bool:
    common = len(terms & entry)
    return bool(terms) and common >= MIN_SHARE_OF_TEXT * len(terms) and common >= MIN_SHARE_OF_ENTRY * len(entry)


def find_recalled(text: str, entries: Entries) -> tuple[Span, ...]:
    """Return the parts of *text* that repeat memory.

    These are lists in the form in which memory is rendered, at least two items of one that are *entries*, each item
    about the past that is one, and sentences about the user in the third person that are entries.
    """
    lines = list(_LINE.finditer(text))
    bullets = [line for line in lines if _BULLET.match(line[0])]
    found = [*_rendered(lines), *_past_items(bullets, entries)]
    is_titled = any(entries.title.match(line[0].lstrip()) for line in lines)
    if bullets or is_titled or _has_third_person(text):
        listed = [line for line in bullets[:MAX_COMPARED] if entries.contain(_content(line[0], entries.title))]
        found += [line.span() for line in listed] if len(listed) >= MIN_BULLETS else []
        stated = [place for line in lines for place in _about_user(line, entries.title) if _can_be_compared(place[2])]
        found += [(start, end) for start, end, content in stated[:MAX_COMPARED] if entries.contain(content)]
    return merge_spans(Span(start=start, end=end, origin="recalled") for start, end in found) if found else ()


def _rendered(lines: Iterable[re.Match[str]]) -> Iterator[tuple[int, int]]:
    """Yield the lines of a block that memory rendered, whatever memory has now."""
    is_inside = False
    for line in lines:
        stripped = line[0].strip()
        is_frame = stripped in _FRAMES or stripped.removeprefix("<memory>").strip() in _FRAMES
        is_inside = is_frame or (is_inside and _is_rendered(line[0]))
        if is_inside:
            yield line.span()


def _is_rendered(line: str) -> bool:
    return bool(_BULLET.match(line) or _FRAME_LINE.fullmatch(line) or line.strip() in _HEADINGS)


def _past_items(bullets: Iterable[re.Match[str]], entries: Entries) -> Iterator[tuple[int, int]]:
    """Yield the items that state what held before, as memory renders it: "- until 2026-05: Lives in Oslo."."""
    items = ((line, _BULLET.sub("", line[0], count=1)[:MAX_CHARS].strip()) for line in bullets)
    stated = [(line.span(), item[found.end() :]) for line, item in items if (found := _PAST.match(item))]
    for place, content in stated[:MAX_COMPARED]:
        if entries.past.contain(_SINCE.sub("", content)):
            yield place


def _has_third_person(text: str) -> bool:
    """Return whether a sentence may begin as those about the user do; most texts need no more than this."""
    about_user = cues("recalled", "third_person")
    return any(about_user.match(text, begin.end()) for begin in _BEGIN.finditer(text))


def _content(item: str, title: re.Pattern[str]) -> str:
    """Return what an item of a list states, without the notes and titles with which memory is rendered."""
    return title.sub("", _NOTES.sub("", _BULLET.sub("", item, count=1)[:MAX_CHARS]).strip(), count=1)


def _about_user(line: re.Match[str], title: re.Pattern[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the sentences of *line* that speak of the user in the third person, with their positions."""
    bullet = _BULLET.match(line[0])
    start = line.start() + (bullet.end() if bullet else 0)
    notes = _NOTES.search(line[0])
    stated = line.string[start : line.start() + notes.start() if notes else line.end()]
    parts = sentences(stated)
    for number, part in enumerate(parts, 1):
        end = line.end() if number == len(parts) else start + len(part)
        is_titled = title.match(part.lstrip()) is not None
        content = _content(part, title)
        if is_titled or cues("recalled", "third_person").match(content):
            yield start, end, content
        start = end


def _can_be_compared(content: str) -> bool:
    return not content.endswith(("?", "？")) and len(words_of(content)) >= MIN_WORDS
