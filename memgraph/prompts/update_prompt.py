"""The update prompt: how its blocks are rendered, and how the offline model reads them back.

<known_facts>
[fact_a1b2c3d4] (context, 0.95) Works at Acme &amp; Sons.
</known_facts>
<conversation>
<turn speaker="user" part="earlier">...</turn>
<turn speaker="assistant" part="new">...</turn>
</conversation>
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, NamedTuple

from pydantic.alias_generators import to_camel

from memgraph.models import Fact, Memory, Prompt, Turn
from memgraph.policy import Policy
from memgraph.prompts.template import Template, load_template
from memgraph.retrieval.lexical import bm25
from memgraph.text.normalize import escape, language_of, single_line, unescape
from memgraph.text.signals import Signals
from memgraph.text.tokens import count_tokens

_LINE_TOKENS = 12  # id, category, confidence and line break of a fact
_CORRECTION_CHARS = 1_000  # of the prompt's end, from which the language of a correction request is detected
_TURN = re.compile(r'<turn speaker="(user|assistant)" part="(earlier|new)">(.*?)</turn>', re.DOTALL)
_FACT = re.compile(r"^\[([^\]\s]+)\] \(([^,()]*), ([\d.]+)\) (.*)$", re.MULTILINE)


class ShownTurn(NamedTuple):
    """A turn, read back from a prompt."""

    speaker: Literal["user", "assistant"]
    is_new: bool
    """False: it was learned before, and only gives context."""
    text: str


class ShownFact(NamedTuple):
    """A known fact, read back from a prompt."""

    id: str
    category: str
    confidence: float
    content: str


def update_prompt(
    memory: Memory,
    turns: Sequence[Turn],
    new_ids: AbstractSet[str],
    signal_names: Sequence[str],
    *,
    policy: Policy,
    signals: Signals,
    instructions: str | None = None,
) -> Prompt:
    """Render the prompt that asks for a memory update.

    Args:
        memory: The memory so far.
        turns: The turns to show, in the order of the conversation.
        new_ids: The ids of the turns to learn from; the others are shown as earlier ones, for context.
        signal_names: The signals that were detected.
        policy: Limits and language of the prompt.
        signals: The hints of the signals.
        instructions: The user's own system message in place of the packaged one.
    """
    new = [turn for turn in turns if turn.id in new_ids]
    language = policy.prompt_language
    if language == "auto":
        language = language_of(turn.text for turn in new if turn.role == "human")
    template = load_template(language)
    rendered = (render_turn(turn, is_new=turn.id in new_ids, max_chars=policy.max_turn_chars) for turn in turns)
    human = substitute(
        template.human,
        memory=_memory_block(memory, new, policy, template),
        conversation="\n".join(rendered),
        hints=_hints([signals.hint(name, language) for name in signal_names], template),
    )
    return Prompt(system=instructions or template.system, human=human)


def correction_request(prompt: Prompt, problem: str) -> str:
    """Ask the model to answer again, naming the *problem* in the language of the prompt."""
    return substitute(load_template(language_of([prompt.human[-_CORRECTION_CHARS:]])).problem, problem=problem)


def substitute(template: str, **values: str) -> str:
    """Replace each `{name}` of *template* by its value, in order; braces in the values are left alone."""
    parts: list[str] = []
    rest = template
    for name, value in values.items():
        before, _, rest = rest.partition(f"{{{name}}}")
        parts += [before, value]
    return "".join([*parts, rest])


def _memory_block(memory: Memory, new: Sequence[Turn], policy: Policy, template: Template) -> str:
    summaries = escape(
        "\n".join(
            f"{to_camel(name)}: {single_line(section.summary) or '(empty)'}" for name, section in memory.sections()
        )
    )
    facts = "\n".join(map(render_fact, select_facts(memory.facts, new, policy.prompt_facts_tokens)))
    return f"<summaries>\n{summaries}\n</summaries>\n<known_facts>\n{facts or template.nothing}\n</known_facts>"


def _hints(hints: Sequence[str], template: Template) -> str:
    return substitute(template.hints, hints="\n".join(f"- {hint}" for hint in hints)) if hints else ""


def shorten(text: str, limit: int) -> str:
    """Return *text*, its middle replaced by `[...]` if it has more than *limit* characters."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head]} [...] {text[-(limit - head) :]}"


def render_turn(turn: Turn, *, is_new: bool, max_chars: int) -> str:
    """Render *turn* as one escaped element."""
    speaker = "user" if turn.role == "human" else "assistant"
    part = "new" if is_new else "earlier"
    return f'<turn speaker="{speaker}" part="{part}">{escape(shorten(turn.text, max_chars))}</turn>'


def render_fact(fact: Fact) -> str:
    """Render *fact* as one escaped line with its id."""
    return escape(f"[{fact.id}] ({fact.effective_category}, {fact.confidence:.2f}) {single_line(fact.content)}")


def read_turns(prompt: str) -> Iterator[ShownTurn]:
    """Read the turns back from a prompt."""
    for speaker, part, text in _TURN.findall(prompt):
        yield ShownTurn(speaker, part == "new", unescape(text))


def read_facts(prompt: str) -> Iterator[ShownFact]:
    """Read the known facts back from a prompt."""
    block = prompt.partition("<known_facts>\n")[2].partition("\n</known_facts>")[0]
    for fact_id, category, confidence, content in _FACT.findall(block):
        yield ShownFact(unescape(fact_id), category, float(confidence), unescape(content))


def select_facts(facts: Sequence[Fact], new: Sequence[Turn], max_tokens: int) -> list[Fact]:
    """Return the facts that fit *max_tokens*, in their order: the newest ones and those most relevant to *new*.

    A quarter of the budget is reserved for the newest facts, since new turns most often correct what was learned
    last. The budget keeps the cost of an update independent of the size of the memory.
    """
    costs = [count_tokens(fact.content) + _LINE_TOKENS for fact in facts]
    if sum(costs) <= max_tokens:
        return list(facts)
    newest = sorted(range(len(facts)), key=lambda index: facts[index].created_at, reverse=True)
    scores = bm25(" ".join(turn.text for turn in new), [fact.content for fact in facts])
    relevant = sorted(range(len(facts)), key=lambda index: -scores[index])
    selected = _fill_budget(newest, costs, max_tokens // 4, frozenset())
    selected |= _fill_budget(relevant, costs, max_tokens - sum(costs[index] for index in selected), selected)
    return [fact for index, fact in enumerate(facts) if index in selected]


def _fill_budget(order: Sequence[int], costs: Sequence[int], budget: int, taken: frozenset[int]) -> frozenset[int]:
    """Take indices in *order* while they fit; one that does not fit is skipped."""
    chosen: set[int] = set()
    for index in order:
        if index not in taken and costs[index] <= budget:
            chosen.add(index)
            budget -= costs[index]
    return frozenset(chosen)
