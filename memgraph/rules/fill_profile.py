"""Fill the profile with what the user said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from pydantic import BaseModel

from memgraph.analysis.admission import problem_of
from memgraph.analysis.uploads import mentions_upload
from memgraph.models import ProfileChange
from memgraph.policy import Grounding
from memgraph.profile import is_choice, patch_profile, render_value
from memgraph.rules.draft import Draft
from memgraph.rules.ground import SaidWords
from memgraph.rules.limit_damage import BY_TOOL

MAX_VALUE_CHARS = 2_000
"""Maximum characters of a value."""


def fill_profile(draft: Draft) -> Draft:
    """Apply the changes of the profile that rest on the user's words and that its pydantic model accepts.

    A refused field costs no other, and never a stored value. A tool that only reports what the user said replaces none.
    """
    schema, changes = draft.policy.profile, draft.changes.profile
    if schema is None or not changes:
        return draft
    said, patch = SaidWords(draft.turns, draft.memory), dict[str, object]()
    known = draft.memory.profile.values if draft.changes.origin else dict[str, object]()
    for change in changes:
        problem = BY_TOOL if change.field in known else _problem(change, schema, said, draft.policy.grounding)
        if problem:
            draft = draft.with_refusal(_item(change.field, change.value), problem)
        else:
            patch[change.field] = change.value
    profile = draft.memory.profile
    patched = patch_profile(schema, profile.values, patch)
    for field, reason in patched.refused.items():
        draft = draft.with_refusal(_item(field, patch[field]), reason)
    if patched.values == profile.values:
        return draft
    filled = profile.model_copy(update={"values": patched.values, "updated_at": draft.changes.at})
    return replace(draft, memory=draft.memory.model_copy(update={"profile": filled}))


def _item(field: str, value: object) -> str:
    return f"{field}: {render_value(value)}"[:MAX_VALUE_CHARS]


def _problem(change: ProfileChange, schema: type[BaseModel], said: SaidWords, mode: Grounding) -> str | None:
    """Return why *change* is refused; None if its model decides.

    A text or a number has to be in the user's words. One of some choices, and a value that is removed, rest on the
    quote.
    """
    if change.field not in schema.model_fields:
        return "it is not a field of the profile"
    text = " ".join(_texts(change.value))
    if len(render_value(change.value)) > MAX_VALUE_CHARS:
        return f"it has more than {MAX_VALUE_CHARS:,} characters"
    needs_quote = mode != "off" and not change.edited_by_user
    inadmissible = problem_of(text) or ("it is not about the user" if mentions_upload(text) else None)
    return inadmissible or (_ungrounded(change, text, schema, said, mode) if needs_quote else None)


def _ungrounded(
    change: ProfileChange, text: str, schema: type[BaseModel], said: SaidWords, mode: Grounding
) -> str | None:
    is_chosen = change.value is None or is_choice(schema, change.field)
    if (mode == "strict" or is_chosen) and (problem := said.quote_problem(change.quote)):
        return problem
    return None if is_chosen else said.support(()).missing_from(text, mode)


def _texts(value: object) -> Iterator[str]:
    """Yield the texts and the numbers in a value."""
    if isinstance(value, dict):
        value = list(cast("dict[str, object]", value).values())
    if isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _texts(item)
    elif value is not None:
        yield str(value)
