"""The prompt of the upkeep: how it is rendered, and how the answer and the offline model read it.

<group>
[fact_a1b2c3d4] (context, 2026-04) Works at Acme.
[fact_b2c3d4e5] (context, 2026-05) Has a job at Acme.
</group>
<old>
[fact_c3d4e5f6] (goal, 2025-01) Wants to run a marathon in autumn 2025.
</old>
<summaries>
workContext: Works at Acme.
</summaries>
<learned>
[fact_d4e5f6a7] (context, 2026-05) Leads the Berlin team at Acme.
</learned>
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial

from memgraph.models import Candidate, MemoryDocument, Prompt
from memgraph.policy import Policy
from memgraph.prompts.template import load_template, load_upkeep_template, substitute
from memgraph.prompts.update_prompt import (
    ShownFact,
    read_fact_lines,
    render_block,
    render_day,
    render_facts,
    render_summaries,
)
from memgraph.text.dates import local_day
from memgraph.text.normalize import unescape
from memgraph.text.words import language_of_texts

_SUMMARIES = re.compile(r"<summaries>\n([^<]*)</summaries>")
_GROUP = re.compile(r"<group>\n([^<]*)</group>")


def upkeep_prompt(
    memory: MemoryDocument, candidates: Sequence[Candidate], *, policy: Policy, now: datetime, timezone: str = "UTC"
) -> Prompt:
    """Render the prompt that asks which facts are one, which no longer hold, and how the summaries change.

    Args:
        memory: The memory.
        candidates: The facts to ask about; those that *memory* does not have are left out.
        policy: The language of the prompt.
        now: The time of the upkeep.
        timezone: In which dates are shown.
    """
    known = {fact.id: fact for fact in memory.facts}
    shown = [(one.kind, [known[fact_id] for fact_id in one.ids if fact_id in known]) for one in candidates]
    render = partial(render_facts, policy=policy, timezone=timezone)
    groups = [render("group", facts) for kind, facts in shown if kind == "alike"]
    old, learned = (
        [fact for kind, facts in shown if kind == asked for fact in facts] for asked in ("stale", "summaries")
    )
    asks_for_summaries = any(kind == "summaries" for kind, _ in shown)
    written = render_summaries(memory, policy.section_names) if asks_for_summaries else []
    language = policy.prompt_language
    if language == "auto":
        language = language_of_texts(fact.content for _, facts in shown for fact in facts)
    template = load_upkeep_template(language)
    sections = load_template(language).render_sections(policy.sections)
    return Prompt(
        system=template.system + (substitute(template.summaries, sections=sections) if asks_for_summaries else ""),
        examples=template.examples,
        human=substitute(
            template.human,
            today=render_day(local_day(now, timezone)),
            groups="".join(groups),
            stale=render("old", old),
            summaries=render_block("summaries", written) + render("learned", learned),
        ).strip(),
        fact_ids=tuple(dict.fromkeys(fact.id for _, facts in shown for fact in facts)),
        answer="upkeep",
    )


def read_groups(prompt: str) -> Iterator[list[ShownFact]]:
    """Read the groups back from a prompt."""
    for block in _GROUP.findall(prompt):
        yield list(read_fact_lines(block))


def read_summaries(prompt: str) -> Iterator[tuple[str, str]]:
    """Read the names and the texts of the summaries back from a prompt."""
    for block in _SUMMARIES.findall(prompt):
        for line in block.splitlines():
            name, _, text = line.partition(": ")
            yield name, unescape(text)
