"""The update prompt: what is remembered, what was said, what to look for."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic.alias_generators import to_camel

from memgraph.models import Fact, Memory, Prompt, Turn
from memgraph.policy import Policy
from memgraph.prompts.blocks import render_fact, render_turn
from memgraph.prompts.template import Template, load_template, substitute
from memgraph.retrieval.lexical import bm25
from memgraph.text.escape import escape
from memgraph.text.language import language_of
from memgraph.text.signals import Signals
from memgraph.text.tokens import count_tokens

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
) -> Prompt:
    """Ask what is new.

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
    human = substitute(
        template.human,
        memory=_memory_block(memory, new, policy, template),
        conversation="\n".join(
            render_turn(turn, is_new=is_new, max_chars=policy.max_turn_chars)
            for turns, is_new in ((earlier, False), (new, True))
            for turn in turns
        ),
        hints=_hints([signals.hint(name, language) for name in fired], template),
    )
    return Prompt(system=instructions or template.system, human=human)


def correction_request(prompt: Prompt, problem: str) -> str:
    """What is said to the model when its answer could not be read, in the language of the prompt."""
    return substitute(load_template(language_of([prompt.human[-1_000:]])).problem, problem=problem)


def _memory_block(memory: Memory, new: Sequence[Turn], policy: Policy, template: Template) -> str:
    summaries = "\n".join(
        f"{to_camel(name)}: {escape(' '.join(section.summary.split())) or '(empty)'}"
        for name, section in memory.sections()
    )
    facts = "\n".join(map(render_fact, shown_facts(memory.facts, new, policy.prompt_facts_tokens)))
    return f"<summaries>\n{summaries}\n</summaries>\n<known_facts>\n{facts or template.nothing}\n</known_facts>"


def _hints(hints: Sequence[str], template: Template) -> str:
    return substitute(template.hints, hints="\n".join(f"- {hint}" for hint in hints)) if hints else ""


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


def _filled_up(places: Sequence[int], costs: Sequence[int], room: int, taken: frozenset[int]) -> frozenset[int]:
    """Take *places* in order while they fit; one that does not fit blocks no other."""
    chosen: set[int] = set()
    for place in places:
        if place not in taken and costs[place] <= room:
            chosen.add(place)
            room -= costs[place]
    return frozenset(chosen)
