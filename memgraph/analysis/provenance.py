"""Provenance: which parts of a user's message are from another source.

Fences, `>` lines and tags delimit what is pasted or added. Everything else is recognised by cues, which are data:
`patterns/provenance/en.yaml` and `zh.yaml`. A pasted mail or page, and the output of a tool, have no reliable end, as
their authors may imitate one: they go on to the end of the message, unless the user delimits them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Literal

from memgraph.analysis.normalize import IS_HAN
from memgraph.analysis.words import groups_of, split_lines, words
from memgraph.models import Span, SpanOrigin, Turn
from memgraph.models.conversation import merge_spans

OWN_CHARS = 60
"""Characters before a cue in which the user is its subject: "I also said"."""
MIN_PAGE_LINES = 2
"""Lines around a text, such as "All rights reserved", that make it a web page."""
MIN_NAME_WORDS = 3
"""Words of a file name that could state something."""

OWN_TAGS = words("own_tags")
"""Tags in which applications put the user's own words."""
INLINE_TAGS = words("inline_tags")
"""Tags of words that are emphasised, not added."""
PAGE_TAGS = words("page_tags")
"""Tags of pasted pages; any other tag is an application's."""

_FENCE = re.compile(
    r"^[ \t]*(?P<mark>```|~~~)[\s\S]*?(?:^[ \t]*(?P=mark)(?!\w)|\Z)"
    r"|```[\s\S]*?(?:```|\Z)|\"\"\"[\s\S]*?(?:\"\"\"|\Z)",
    re.MULTILINE,
)
_QUOTED_LINES = re.compile(r"^[ \t|]*[>＞](?![_.:;=<][)(_<\s]|[=\-]).*(?:\n[ \t|]*[>＞].*)*", re.MULTILINE)
_TAG = re.compile(r"<(?P<close>/)?(?P<name>[^\W\d_][\w.:-]{0,60})(?:\s[^<>]{0,500})?(?P<empty>/)?>")
QUOTATION = re.compile(
    r"\"[^\"]{1,2000}\"|“[^“”]{1,2000}”|„[^„“”]{1,2000}[“”]|«[^«»]{1,2000}»|「[^「」]{1,2000}」|『[^『』]{1,2000}』"
    r"|‘(?:[^‘’\n]|’(?=\w)){1,500}+’(?!\w)|(?<!\w)'(?:[^'\n]|'(?=\w)){1,300}+'(?!\w)"
)
_OPENING = re.compile(r"[\s:：]*(?:(?P<quote>[\"“„«「『])|(?P<mark>\0))?")
_CLOSERS: Mapping[str, str] = {'"': '"', "“": "”", "„": "“", "«": "»", "「": "」", "『": "』"}
_LINE = re.compile(r"^(?=[ \t]*+[^\s\0])", re.MULTILINE)
_PARAGRAPH_END = re.compile(r"\n[ \t]*(?=\n)|\Z")
_NAME_LINE = re.compile(
    r"^[ \t]*(?:[-*•][ \t])?"
    r"(?P<name>[A-Z][\w.'’-]{0,20}(?: [A-Z][\w.'’-]{0,20}){0,2}|[a-z][\w-]{0,15}|[\u4e00-\u9fff]{1,6})"
    r"[ \t]?[:：](?!//)[ \t]*(?=\S)(?P<words>.*)$",
    re.MULTILINE,
)
_DIALOGUE = re.compile(
    r"[?？]|\b(?:you(?:r|'re)?|ur?)\b|^(?:who|what|where|when|why|how|hey|hi|hello|lol|yes|yeah|no|nope|ok|sure)\b|[你您吗]",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"\[file: [^\]\n]{1,100}\]")
_FILE_NAME = re.compile(
    r"(?<![\w.-])[\w-]{1,120}+\.(?:pdf|docx?|xlsx?|pptx?|csv|tsv|txt|md|rtf|odt|png|jpe?g|gif|webp|mp[34]|wav|zip|eml|html?)\b"
    r"|[\"“‘《「](?P<titled>[^\"“”‘’《》「」\n]{1,160}\.(?:pdf|docx?|xlsx?|pptx?|csv|txt|md|eml|html?))[\"”’》」]",
    re.IGNORECASE,
)
_NAME_WORD = re.compile(r"[^\W_]+")
_CUE_END = re.compile(r"[:：?]")
"""What each introduction, and each cue of a colon, ends with: they are dear to search, and most messages have none."""


# -- cues, by language ----------------------------------------------------------------------------


@cache
def cues(origin: Literal["quoted", "relayed", "recalled"], kind: str) -> re.Pattern[str]:
    """Return the cues of one kind in all languages as one pattern."""
    patterns = [
        _with_fragments(line, file["fragments"])
        for file in groups_of("provenance")
        for line in split_lines(file[origin].get(kind, ""))
    ]
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE | re.MULTILINE)


def _with_fragments(pattern: str, fragments: Mapping[str, str]) -> str:
    """Replace the names of fragments, also within fragments, by what they stand for."""
    for _ in range(2):
        for name, fragment in fragments.items():
            pattern = pattern.replace(f"{{{name}}}", fragment.replace(" |", "|").replace("\n", ""))
    return pattern


@cache
def quoted_names(kind: Literal["assistants", "not_names"]) -> frozenset[str]:
    """Return the names of assistants in chat logs, or what precedes a colon in lists of the user's own ("diet")."""
    return frozenset(word for file in groups_of("provenance") for word in file["quoted"].get(kind, "").split())


# -- spans ----------------------------------------------------------------------------------------


def with_provenance(turn: Turn) -> Turn:
    """Return *turn*, if it is the user's, with the spans of what the user did not write, in addition to its own.

    Its own spans, which an application marks, are delimited parts: cues in them do not reach beyond their end.
    """
    if not turn.is_users:
        return turn
    found = find_spans(_blank(turn.text, turn.spans))
    return turn.model_copy(update={"spans": merge_spans([*turn.spans, *found])}) if found else turn


def find_spans(text: str) -> tuple[Span, ...]:
    """Return the parts of *text*, a message of a user, that are quoted or relayed. Takes linear time.

    A quotation is foreign only with a cue that names another source: in `my motto is "less is more"`
    and `I love "The Wire"` all words are the user's.
    """
    delimited = merge_spans(_delimited(text))
    open_text = _blank(text, delimited)
    spans = merge_spans([*delimited, *_to_end(open_text), *_lines(open_text), *_chat(open_text), *_page(open_text)])
    rest = _blank(text, spans)
    return merge_spans([*spans, *_quotations(rest), *_file_names(rest)])


def _blank(text: str, spans: Iterable[Span]) -> str:
    """Return *text* with NUL, which no message contains, for the characters of *spans*, so that positions stay."""
    parts, end = list[str](), 0
    for span in spans:
        parts += [text[end : span.start], "\0" * (span.end - span.start)]
        end = span.end
    return "".join([*parts, text[end:]])


def _at_lines(origin: Literal["quoted", "relayed"], kind: str, text: str) -> Iterator[re.Match[str]]:
    """Yield the cues of one kind that begin with a line, which are tried there only."""
    pattern = cues(origin, kind)
    return (found for line in _LINE.finditer(text) if (found := pattern.match(text, line.start())))


def _span(match: re.Match[str], origin: SpanOrigin, end: int | None = None) -> Span:
    return Span(start=match.start(), end=match.end() if end is None else end, origin=origin)


# -- delimited parts ------------------------------------------------------------------------------


def _delimited(text: str) -> Iterator[Span]:
    yield from (_span(match, "quoted") for match in _FENCE.finditer(text))
    yield from (_span(match, "quoted") for match in _QUOTED_LINES.finditer(text))
    yield from (_span(match, "relayed") for match in _PLACEHOLDER.finditer(text))
    yield from _tagged(text)


def _tagged(text: str) -> Iterator[Span]:
    """Yield the blocks `<name>...</name>`. One that is closed twice ends the second time: its content closed it."""
    opened: dict[str, list[int]] = {}
    closed: dict[str, int] = {}
    for tag in _TAG.finditer(text):
        name = tag["name"].lower()
        if name in OWN_TAGS or name in INLINE_TAGS or tag["empty"]:
            continue
        starts = opened.setdefault(name, [])
        if not tag["close"]:
            starts.append(tag.start())
            continue
        start = starts.pop() if starts else closed.get(name)
        if start is not None:
            closed[name] = start
            yield Span(start=start, end=tag.end(), origin="quoted" if name in PAGE_TAGS else "relayed")


# -- parts without an end -------------------------------------------------------------------------


def _to_end(text: str) -> Iterator[Span]:
    """Yield what begins with a header, a letter or an announcement, and goes on to its ending or that of *text*."""
    yield from _from_headers(text, "relayed")
    yield from _from_headers(text, "quoted")
    yield from _letter(text)
    yield from _references(text)
    for announced in cues("quoted", "introductions").finditer(text) if _CUE_END.search(text) else ():
        yield from _after(text, announced)


def _from_headers(text: str, origin: Literal["quoted", "relayed"]) -> Iterator[Span]:
    endings = [match.end() for match in _at_lines(origin, "endings", text)]
    end = 0
    for header in _at_lines(origin, "headers", text):
        if header.start() < end:
            continue
        is_followed = origin == "quoted" and _opens(text, header.end())["mark"] is not None
        last = endings[-1] if endings and endings[-1] > header.end() else len(text)
        end = header.end() if is_followed else last
        yield _span(header, origin, end)


def _letter(text: str) -> Iterator[Span]:
    greetings = (match for match in _at_lines("quoted", "greetings", text) if text[: match.start()].strip())
    signoffs = [match.start() for match in _at_lines("quoted", "signoffs", text)]
    if signoffs and (greeting := next(greetings, None)) and greeting.end() < signoffs[-1]:
        yield _span(greeting, "quoted", len(text))


def _references(text: str) -> Iterator[Span]:
    """Yield reference text up to the user's question, the last one, since the references may imitate one."""
    questions = [match.start() for match in _at_lines("relayed", "questions", text)]
    references = next(_at_lines("relayed", "references", text), None)
    if references and questions and references.end() < questions[-1]:
        yield _span(references, "relayed", questions[-1])


def _opens(text: str, position: int) -> re.Match[str]:
    """Match what stands at *position*: a quotation mark ("quote"), or a delimited part ("mark")."""
    match = _OPENING.match(text, position)
    assert match  # noqa: S101 - the pattern matches the empty text
    return match


def _after(text: str, announced: re.Match[str]) -> Iterator[Span]:
    """Yield what the user announces, up to the last quotation mark or the end; nothing if it is delimited."""
    opening = _opens(text, announced.end())
    if opening["mark"] is not None or opening.end() == len(text):
        return
    end = len(text)
    if quote := opening["quote"]:
        last = text.rfind(_CLOSERS[quote], opening.end())
        end = last + 1 if last >= 0 else end
    yield Span(start=opening.end() - len(quote or ""), end=end, origin="quoted")


# -- lines ----------------------------------------------------------------------------------------


def _lines(text: str) -> Iterator[Span]:
    origins: tuple[Literal["quoted", "relayed"], ...] = ("quoted", "relayed")
    for origin in origins:
        for line in _at_lines(origin, "lines", text):
            yield _span(line, origin, _line_end(text, line.end()))


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _paragraph_end(text: str, position: int) -> int:
    match = _PARAGRAPH_END.search(text, position)
    return match.start() if match else len(text)


def _chat(text: str) -> Iterator[Span]:
    """Yield the messages of a chat log, each with the lines that follow it."""
    named = list(_NAME_LINE.finditer(text))
    messages = [*_at_lines("quoted", "messages", text), *(named if _is_dialogue(named) else ())]
    end = 0
    for message in sorted(messages, key=lambda message: message.start()):
        if message.start() >= end:
            end = _paragraph_end(text, message.end())
            yield _span(message, "quoted", end)


def _is_dialogue(named: Iterable[re.Match[str]]) -> bool:
    """Return whether lines such as `Anna: hi` are messages, not a list of the user's such as `Diet: vegan`."""
    lines = [line for line in named if line["name"].casefold() not in quoted_names("not_names")]
    names = [line["name"].casefold() for line in lines]
    if len(names) < 2:  # noqa: PLR2004 - a dialogue has two lines
        return False
    is_repeated = len(set(names)) < len(names) or not quoted_names("assistants").isdisjoint(names)
    return is_repeated or any(_DIALOGUE.search(line["words"]) for line in lines)


def _page(text: str) -> Iterator[Span]:
    """Yield a pasted web page: all of *text* but a first paragraph without lines of a page."""
    lines = [match.start() for match in _at_lines("quoted", "page", text)]
    if len(lines) >= MIN_PAGE_LINES:
        first = _paragraph_end(text, 0)
        yield Span(start=0 if lines[0] < first else first, end=len(text), origin="quoted")


# -- quotations -----------------------------------------------------------------------------------


def _quotations(text: str) -> Iterator[Span]:
    quotes = list(QUOTATION.finditer(text))
    after = cues("quoted", "after")
    yield from (_span(quote, "quoted") for quote in quotes if after.match(text, quote.end()))
    for cue in cues("quoted", "before").finditer(text) if quotes else ():
        if (quote := QUOTATION.match(text, cue.end())) and not _is_own(text, cue):
            yield _span(quote, "quoted")
    for cue in cues("quoted", "colon").finditer(text) if _CUE_END.search(text) else ():
        if not _is_own(text, cue):
            yield from _stated(text, cue)


def _is_own(text: str, cue: re.Match[str]) -> bool:
    """Return whether the user is the subject of *cue*."""
    return cues("quoted", "own").search(text[max(0, cue.start() - OWN_CHARS) : cue.start()]) is not None


def _stated(text: str, cue: re.Match[str]) -> Iterator[Span]:
    """Yield what follows the colon of *cue*: the rest of the line, or the next paragraph if nothing is left of it."""
    opening = _opens(text, cue.end())
    start = opening.end()
    if opening["quote"] is None and opening["mark"] is None and start < len(text):
        is_below = "\n" in opening[0]
        yield Span(start=start, end=(_paragraph_end if is_below else _line_end)(text, start), origin="quoted")


def _file_names(text: str) -> Iterator[Span]:
    """Yield names of files that are long enough to state something."""
    for match in _FILE_NAME.finditer(text):
        name = match["titled"] or match[0]
        if len(_NAME_WORD.findall(name)) > MIN_NAME_WORDS or len(IS_HAN.findall(name)) > 2 * MIN_NAME_WORDS:
            yield _span(match, "quoted")
