"""The update prompt: what is remembered, what was said, what to look for."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from pydantic.alias_generators import to_camel

from memgraph.models import Fact, Memory, Turn
from memgraph.policy import Policy
from memgraph.prompts.blocks import render_fact, render_turn, shorten
from memgraph.prompts.template import Template, filled, load_template
from memgraph.retrieval.rank import bm25
from memgraph.text.escape import escape
from memgraph.text.language import language_of
from memgraph.text.signals import Signals
from memgraph.text.tokens import count_tokens

_SHOWN_OF_A_BAD_ANSWER = 2_000
_LINE_TOKENS = 12  # the id, category and confidence in front of a fact, and the line's end


def update_prompt(
    memory: Memory,
    earlier: Sequence[Turn],
    new: Sequence[Turn],
    fired: Sequence[str],
    *,
    policy: Policy,
    signals: Signals,
    instructions: str | None = None,
) -> list[AnyMessage]:
    """Ask what is new: a static system message, and one human message.

    Args:
        memory: What is remembered so far.
        earlier: Turns learned from before, shown as context.
        new: Turns to learn from.
        fired: Names of the signals that fired.
        policy: How much is shown, and in which language.
        signals: Where the hints are.
        instructions: A user's own system message in place of the packaged one.
    """
    language = policy.prompt_language
    if language == "auto":
        language = language_of(turn.text for turn in new if turn.is_human)
    template = load_template(language)
    human = filled(
        template.human,
        memory=_memory_block(memory, new, policy, template),
        conversation="\n".join(
            render_turn(turn, is_new=is_new, max_chars=policy.max_turn_chars)
            for turns, is_new in ((earlier, False), (new, True))
            for turn in turns
        ),
        hints=_hints([signals.hint(name, language) for name in fired], template),
    )
    return [SystemMessage(instructions or template.system), HumanMessage(human)]


def asked_again(prompt: Sequence[AnyMessage], answer: AIMessage, problem: str) -> list[AnyMessage]:
    """The prompt, the answer that could not be read, and what was wrong with it."""
    text = answer.text[: _SHOWN_OF_A_BAD_ANSWER * 2]
    language = language_of([str(prompt[-1].content)[:1_000]]) if prompt else "en"
    said = AIMessage(shorten(text, _SHOWN_OF_A_BAD_ANSWER) or "(nothing)")
    return [*prompt, said, HumanMessage(filled(load_template(language).problem, problem=problem))]


def _memory_block(memory: Memory, new: Sequence[Turn], policy: Policy, template: Template) -> str:
    summaries = "\n".join(
        f"{to_camel(name)}: {escape(' '.join(section.summary.split())) or '(empty)'}"
        for name, section in memory.sections()
    )
    facts = "\n".join(map(render_fact, shown_facts(memory.facts, new, policy.prompt_facts_tokens)))
    return (
        f"<summaries>\n{summaries}\n</summaries>\n<known_facts>\n{facts or template.nothing}\n</known_facts>"
    )


def _hints(hints: Sequence[str], template: Template) -> str:
    return filled(template.hints, hints="\n".join(f"- {hint}" for hint in hints)) if hints else ""


def shown_facts(facts: Sequence[Fact], new: Sequence[Turn], max_tokens: int) -> list[Fact]:
    """The facts that fit, in their own order: where not all do, the newest and the most relevant.

    A quarter of the room is for the newest, since news most often corrects what was learned last;
    so the price of an update does not grow with the memory.
    """
    costs = [count_tokens(fact.content) + _LINE_TOKENS for fact in facts]
    if sum(costs) <= max_tokens:
        return list(facts)
    newest = sorted(range(len(facts)), key=lambda place: facts[place].created_at, reverse=True)
    scores = bm25(" ".join(turn.text for turn in new), [fact.content for fact in facts])
    fitting = sorted(range(len(facts)), key=lambda place: -scores[place])
    shown = _filled_up(newest, costs, max_tokens // 4, frozenset())
    shown |= _filled_up(fitting, costs, max_tokens - sum(costs[place] for place in shown), shown)
    return [fact for place, fact in enumerate(facts) if place in shown]


def _filled_up(
    places: Sequence[int], costs: Sequence[int], room: int, taken: frozenset[int]
) -> frozenset[int]:
    """Take *places* in order while they fit; one that does not fit blocks no other."""
    chosen: set[int] = set()
    for place in places:
        if place not in taken and costs[place] <= room:
            chosen.add(place)
            room -= costs[place]
    return frozenset(chosen)
