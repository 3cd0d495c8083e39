"""The update prompt: how its blocks are rendered, and how the offline model reads them back.

<known_facts>
[fact_a1b2c3d4] (context, 2026-04) Works at Acme &amp; Sons.
[fact_9c0b7d2e] said 2026-05-01: "Just got my green card!"
</known_facts>
<conversation>
<day 2026-05-02 Sat>
<turn 1 assistant earlier>...</turn>
<day 2026-05-03 Sun>
<turn 2 user>...</turn>
<turn 3 other "Bob">...</turn>
<turn 4 user>My sister wrote: <quoted>...</quoted> So I will move, too.</turn>
</conversation>

A tag has no names of attributes, and a day stands before its first turn: small models spend a token on each digit.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime
from heapq import nlargest
from typing import Literal, NamedTuple, cast

from pydantic.alias_generators import to_camel

from memgraph.analysis.dates import local_date, local_day
from memgraph.analysis.hidden import remove_hidden
from memgraph.analysis.lasting import confidence_of
from memgraph.analysis.normalize import escape, single_line, unescape
from memgraph.analysis.remarks import is_about_period, mentions_user
from memgraph.analysis.sentences import cut_at_sentence, sentences
from memgraph.analysis.signals import Signals
from memgraph.analysis.slots import Slots, packaged_slots
from memgraph.analysis.terms import Terms, extract_terms
from memgraph.analysis.tokens import count_tokens
from memgraph.analysis.words import Language, in_order, language_of_texts
from memgraph.models import AsSaid, Fact, MemoryDocument, Prompt, PromptExample, Turn
from memgraph.models.conversation import PLACEHOLDER
from memgraph.policy import Policy
from memgraph.profile import describe_profile, render_value
from memgraph.prompts.template import Instructions, load_template, parse_instructions, substitute
from memgraph.retrieval.summary_facts import with_current_summaries
from memgraph.retrieval.terms import bm25

Speaker = Literal["user", "assistant", "other"]

_LINE_TOKENS = 16  # id, category, month and line break of a fact
_CORRECTION_CHARS = 1_000  # of the prompt's end, from which the language of a correction request is detected
_MAX_NAME_CHARS = 40
_TURN = re.compile(
    r'<day ([^\s>]+)[^>]*>|<turn (\d+) (user|assistant|other)(?: "([^"]*)")?( earlier)?>(.*?)</turn>', re.DOTALL
)
_FOREIGN = re.compile(r"<(quoted|relayed|recalled)>([^<]*)(?:</\1>|\Z)")
_FACT = re.compile(r"^\[([^\]\s]+)\] \(([^,()]*)(?:, ([a-z]\w*))?(?:, ([\d-]+))?\) (.*)$", re.MULTILINE)
_SLOT = re.compile(r"[a-z][a-z0-9_]{0,39}")  # another text in its place may be an order


class ShownTurn(NamedTuple):
    """A turn, or a part of a long one, read back from a prompt."""

    speaker: Speaker
    is_new: bool
    """False: it was learned before, and only gives context."""
    text: str
    """Of the user the own words, with PLACEHOLDER for each part of another origin."""
    number: int = 0
    date: str = ""
    """The day on which it was written, `2026-05-03`; empty if unknown."""
    name: str = ""
    """Of another speaker."""


class ShownFact(NamedTuple):
    """A known fact, read back from a prompt."""

    id: str
    category: str
    slot: str
    """That a model named; empty if none did."""
    month: str
    """In which the user said it, `2026-04`; empty if unknown."""
    content: str


def update_prompt(
    memory: MemoryDocument,
    turns: Sequence[Turn],
    new_ids: AbstractSet[str],
    signal_names: Sequence[str],
    *,
    policy: Policy,
    signals: Signals,
    slots: Slots | None = None,
    now: datetime,
    timezone: str = "UTC",
    instructions: str | None = None,
) -> Prompt:
    """Render the prompt that asks for a memory update.

    Args:
        memory: The memory so far.
        turns: The turns to show, in the order of the conversation; long ones in parts.
        new_ids: The ids of the turns to learn from; the others are shown as earlier ones, for context.
        signal_names: The signals that were detected.
        policy: Limits and language of the prompt.
        signals: The hints of the signals.
        slots: What a person has one of at a time, which the model names; by default the packaged table.
        now: The time of the update, which is not always that of the conversation.
        timezone: In which dates are shown.
        instructions: The user's own rules, perhaps with examples, in place of the packaged ones.
    """
    new = [turn for turn in turns if turn.id in new_ids]
    language = policy.prompt_language
    if language == "auto":
        language = language_of_texts([turn.own_words for turn in new if turn.role == "human"])
    today, *days = [local_day(at, timezone) for at in (now, *(turn.at for turn in turns))]
    template = load_template(language)
    given = parse_instructions(instructions) if instructions else packaged_instructions(language, policy, slots)
    claims = select_facts(memory.as_said, new, policy.prompt_facts_tokens // 4)
    facts = select_facts(memory.facts, new, policy.prompt_facts_tokens - sum(map(_tokens_of, claims)))
    known = _memory_block(memory, [*facts, *claims], policy, timezone)
    human = substitute(
        template.human,
        today=render_day(today),
        memory=known + template.as_said if claims else known,
        conversation="\n".join(_render_turns(turns, days, new_ids)),
        hints=render_hints([signals.hint(name, language) for name in signal_names], turns, new_ids, language),
    )
    return Prompt(
        system=given.system,
        examples=given.examples,
        human=human,
        turn_ids=tuple(turn.id for turn in turns),
        fact_ids=tuple(fact.id for fact in (*facts, *claims)),
    )


def packaged_instructions(language: Language, policy: Policy, slots: Slots | None = None) -> Instructions:
    """Return the packaged rules and examples, with those about summaries and the profile if *policy* asks for them.

    The rules offer the names of *slots*, by default those of the packaged table.
    """
    template = load_template(language)
    sections = policy.sections if policy.summaries == "update" else ()
    names = [section.name for section in sections]
    rules = substitute(template.summaries, sections=template.render_sections(sections)) if sections else ""
    if policy.profile:
        rules += substitute(template.profile, fields=", ".join(describe_profile(policy.profile)))
    return Instructions(
        system=substitute(
            template.system,
            categories=template.render_categories(policy.categories),
            slots=", ".join((slots or packaged_slots()).prompted),
            summaries=rules,
        ),
        examples=tuple(
            PromptExample(
                human=substitute(
                    template.human.partition("\n")[2],  # today's date would only cost tokens
                    memory=render_block("known_facts", example.facts.splitlines()),
                    conversation=example.conversation,
                    hints="",
                ),
                ai=example.answer(sections=names, categories=policy.category_names),
            )
            for example in template.examples
        ),
    )


def correction_request(prompt: Prompt, problem: str) -> str:
    """Ask the model to answer again, naming the *problem* in the language of the prompt."""
    return substitute(load_template(language_of_texts([prompt.human[-_CORRECTION_CHARS:]])).problem, problem=problem)


def _memory_block(memory: MemoryDocument, facts: Sequence[Fact], policy: Policy, timezone: str) -> str:
    """Return what still holds of the summaries, if they may be rewritten, and the known *facts*."""
    values = memory.profile.values.items() if policy.profile else ()
    profile = [escape(_shown_line(f"{field}: {render_value(value)}")) for field, value in values]
    summaries = render_summaries(memory, policy.section_names) if policy.summaries == "update" else []
    return (
        render_block("profile", profile)
        + render_block("summaries", summaries)
        + render_facts("known_facts", facts, policy, timezone)
    )


def _shown_line(text: str) -> str:
    return single_line(remove_hidden(text))


def render_summaries(memory: MemoryDocument, names: Collection[str]) -> list[str]:
    """Return a line for each summary in *names*, with what still holds of it."""
    return [
        f"{to_camel(name)}: {escape(_shown_line(section.summary))}"
        for name, section in with_current_summaries(memory).sections()
        if name in names and section.summary.strip()
    ]


def render_block(tag: str, lines: Sequence[str]) -> str:
    """Return *lines* in a tag; nothing without lines."""
    return "\n".join([f"<{tag}>", *lines, f"</{tag}>", ""]) if lines else ""


def render_facts(tag: str, facts: Sequence[Fact], policy: Policy, timezone: str) -> str:
    """Return the lines of *facts* in a tag; nothing without facts."""
    return render_block(tag, [render_fact(fact, policy.category_of(fact), timezone=timezone) for fact in facts])


def shorten(text: str, limit: int) -> str:
    """Return *text*, its middle replaced by `[...]` if it has more than *limit* characters."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head]} [...] {text[-(limit - head) :]}"


def last_part(turn: Turn, max_chars: int) -> Turn:
    """Return the end of *turn* from the start of a sentence on, at most *max_chars* characters; `[...]` before it."""
    if len(turn.text) <= max_chars:
        return turn
    first, *rest = sentences(turn.text[-max_chars:])
    end = ("".join(rest) or first.partition(" ")[2] or first).lstrip()
    return turn.slice(len(turn.text) - len(end), len(turn.text), prefix="[...] ")


def _render_turns(turns: Sequence[Turn], days: Sequence[date | None], new_ids: AbstractSet[str]) -> list[str]:
    """Return the turns, each of *days* before its first one."""
    lines: list[str] = []
    shown = ""
    for number, (turn, day) in enumerate(zip(turns, map(render_day, days), strict=True), 1):
        if day != shown:
            lines.append(f"<day {day or 'unknown'}>")
            shown = day
        lines.append(render_turn(turn, number, is_new=turn.id in new_ids))
    return lines


def render_turn(turn: Turn, number: int, *, is_new: bool) -> str:
    """Render *turn* as one escaped element."""
    speaker: Speaker = "assistant" if turn.role == "ai" else "user" if turn.is_users else "other"
    name = escape(single_line(turn.speaker))[:_MAX_NAME_CHARS].replace('"', "'")
    parts = [speaker, f'"{name}"' if speaker == "other" else "", "" if is_new else "earlier"]
    return f"<turn {number} {' '.join(filter(None, parts))}>{_render_text(turn)}</turn>"


def _render_text(turn: Turn) -> str:
    """Return the text of *turn*, escaped, with what is not its author's own words in elements named by the origin."""
    if not turn.spans:
        return escape(turn.text)
    return "".join(
        escape(text) if origin == "user" else f"<{origin}>{escape(text)}</{origin}>" for text, origin in turn.pieces
    )


def render_day(day: date | None) -> str:
    """Return a day with its weekday, by which "last Friday" is found; empty if it is unknown."""
    return f"{day} {in_order('weekdays')[day.weekday()][:3].capitalize()}" if day else ""


def render_fact(fact: Fact, category: str, *, timezone: str = "UTC") -> str:
    """Render *fact* as one escaped line with its id, *category* and slot; of a claim kept as said only the words."""
    if isinstance(fact, AsSaid):
        day = local_date(fact.said_last, timezone)
        return escape(f'[{fact.id}] said {day}: "{_shown_line(fact.words)}"')
    month = local_date(fact.said_at or fact.created_at, timezone)[: len("2026-04")]
    slot = fact.slot if fact.slot and _SLOT.fullmatch(fact.slot) else ""
    label = ", ".join(filter(None, (category, slot, month)))
    return escape(f"[{fact.id}] ({label}) {_shown_line(fact.content)}")


def read_turns(prompt: str) -> Iterator[ShownTurn]:
    """Read the turns back from a prompt."""
    date = ""
    for day, number, speaker, name, earlier, text in _TURN.findall(prompt):
        if day:
            date = "" if day == "unknown" else day
        else:
            kept = _FOREIGN.sub(PLACEHOLDER if speaker == "user" else r"\2", text)
            yield ShownTurn(cast("Speaker", speaker), not earlier, unescape(kept), int(number), date, unescape(name))


def read_facts(prompt: str) -> Iterator[ShownFact]:
    """Read the known facts back from a prompt."""
    block = prompt.partition("<known_facts>\n")[2].partition("\n</known_facts>")[0]
    yield from read_fact_lines(block)


def read_fact_lines(block: str) -> Iterator[ShownFact]:
    """Read back the lines that `render_fact` makes."""
    for fact_id, category, slot, month, content in _FACT.findall(block):
        yield ShownFact(unescape(fact_id), category, slot, month, unescape(content))


def _tokens_of(fact: Fact) -> int:
    return count_tokens(fact.words if isinstance(fact, AsSaid) else fact.content) + _LINE_TOKENS


def _terms_of(fact: Fact) -> Terms:
    return extract_terms(f"{fact.content}\n{fact.words}" if isinstance(fact, AsSaid) else fact.content)


def select_facts(facts: Sequence[Fact], new: Sequence[Turn], max_tokens: int) -> list[Fact]:
    """Return the facts that fit *max_tokens*, in their order: the newest ones and those most relevant to *new*.

    Of the claims among them, only those that have words in common with *new* are returned. A quarter of the budget is
    reserved for the newest, since new turns most often correct what was learned last. The budget keeps the cost of an
    update independent of the size of the memory.
    """
    if not facts:
        return []
    costs = [fact.derive(_tokens_of) for fact in facts]
    scores = bm25(extract_terms(" ".join(turn.text for turn in new)), [fact.derive(_terms_of) for fact in facts])
    shown = [at for at, fact in enumerate(facts) if not isinstance(fact, AsSaid) or (scores[at] > 0 and fact.words)]
    newest = sorted(shown, key=lambda index: facts[index].created_at, reverse=True)
    relevant = sorted(shown, key=lambda index: -scores[index])
    taken: set[int] = set()
    used = 0
    for order, limit in ((newest, max_tokens // 4), (relevant, max_tokens)):
        for index in order:
            if index not in taken and used + costs[index] <= limit:
                taken.add(index)
                used += costs[index]
    return [fact for index, fact in enumerate(facts) if index in taken]


# -- hints: what the prompt points out, so that a small model overlooks less of it ----------------------------

MIN_PROBABILITY = 0.4
"""Probability of being worth remembering from which a sentence is pointed out."""
MIN_SENTENCES = 4
"""Of the user; a shorter conversation is read whole by any model."""
MAX_HINTS = 8
"""Sentences that are pointed out, the most probable ones."""
MAX_CLASSIFIED = 16
"""Sentences that are classified, the longest ones."""
MAX_HINT_CHARS = 200
"""Characters of a sentence that is pointed out."""

_ASKING = ("?", "？")


class _Sentence(NamedTuple):
    turn: int
    """The number of its turn in the prompt, from 1."""
    text: str


def render_hints(
    signal_hints: Iterable[str],
    turns: Sequence[Turn],
    new_ids: AbstractSet[str],
    language: Language,
) -> str:
    """Return the hints of the signals and the sentences that may be worth remembering, as a list; empty without any.

    Args:
        signal_hints: One for each signal that was detected.
        turns: The turns that the prompt shows, in its order.
        new_ids: The ids of those to learn from.
        language: Of the prompt, and of the sentences.
    """
    template = load_template(language)
    pointed_out = (
        _render_sentence(sentence, template.lasting) for sentence in _lasting_sentences(turns, new_ids, language)
    )
    lines = "\n".join(f"- {hint}" for hint in (*signal_hints, *pointed_out))
    return substitute(template.hints, hints=lines) if lines else ""


def _lasting_sentences(turns: Sequence[Turn], new_ids: AbstractSet[str], language: Language) -> list[_Sentence]:
    """Return the sentences of the user in the new turns that are probably worth remembering, in their order."""
    numbered = enumerate(turns, 1)
    texts = [(number, turn.own_words) for number, turn in numbered if turn.is_users and turn.id in new_ids]
    said = [_Sentence(number, sentence.strip()) for number, text in texts for sentence in sentences(text)]
    if len(said) < MIN_SENTENCES:
        return []
    # an English sentence without a word for the user is hardly ever worth it; a Chinese one often leaves it out
    own = [
        sentence
        for sentence in said
        if not sentence.text.endswith(_ASKING) and (language == "zh" or mentions_user(sentence.text))
    ]
    longest = nlargest(MAX_CLASSIFIED, range(len(own)), key=lambda place: len(own[place].text))
    probabilities = {place: _rate(own[place].text, language) for place in longest}
    likely = [place for place, probability in probabilities.items() if probability >= MIN_PROBABILITY]
    chosen = nlargest(MAX_HINTS, likely, key=probabilities.__getitem__)
    return [own[place] for place in sorted(chosen)]


def _rate(sentence: str, language: Language) -> float:
    """Return the probability that *sentence* is worth remembering, of what the user does these days at least the least.

    The classifier learned from what lasts for years.
    """
    probability = confidence_of(sentence, language)
    return max(probability, MIN_PROBABILITY) if is_about_period(sentence) else probability


def _render_sentence(sentence: _Sentence, template: str) -> str:
    text = escape(cut_at_sentence(single_line(sentence.text), MAX_HINT_CHARS, len))
    return substitute(template, number=str(sentence.turn), sentence=text)
