"""The check: the prompt that puts the claims of an update to the model, and its answer.

Known facts:
[1] (2026-03-01) Goes to work by bus.

Claims:
<claim 1>
said (2026-05-02): I switched to cycling to work.
claim: Cycles to work.
</claim>
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import zip_longest
from typing import Annotated, Literal, NamedTuple, cast, get_args

from pydantic import BaseModel, BeforeValidator

from memgraph._yaml import read_packaged
from memgraph.analysis.dates import local_date
from memgraph.analysis.hidden import remove_hidden
from memgraph.analysis.normalize import escape, single_line, unescape
from memgraph.analysis.words import LANGUAGES, Language, language_of_texts
from memgraph.models import Answer, Check, CheckedClaim, ClaimVerdict, Fact, Follows, Modality
from memgraph.models.values import as_list, as_object
from memgraph.prompts.json_text import JsonSchema, find_last, json_object
from memgraph.prompts.template import substitute
from memgraph.prompts.update_prompt import shorten

MAX_PROBE_ERRORS = 2
"""Of 24 answers; a model that is right in 97 % has no more in 97 of 100 probes."""
MAX_CHARS = 400
"""Of each text in the prompt."""

_KNOWN = re.compile(r"^\[(\d+)\] (?:\([^)\n]*\) )?(.*)$", re.MULTILINE)
_CLAIM = re.compile(r"<claim (\d+)>\n(?:asked: (.*)\n)?said(?: \([^)\n]*\))?: (.*)\nclaim: (.*)\n</claim>")
_MAX_ANSWER = 20_000  # characters that are read of an answer


class Control(BaseModel, frozen=True, extra="forbid"):
    """A claim whose answer is known."""

    said: str
    claim: str
    follows: Annotated[Follows, BeforeValidator(lambda value: {True: "yes", False: "no"}.get(value, value))]  # YAML 1.1

    def is_met(self, verdict: ClaimVerdict | None) -> bool:
        """Return whether *verdict* is right about it."""
        return verdict is not None and (verdict.follows == "yes") == (self.follows == "yes")


class ProbePair(BaseModel, frozen=True, extra="forbid"):
    """A known fact and a claim, of which it is known whether the claim ends the fact."""

    known: str
    said: str
    claim: str
    ends: bool


class CheckTemplate(BaseModel, frozen=True, extra="forbid"):
    """The packaged prompt of one language."""

    prompt: str
    """Contains {known} and {claims}."""
    none: str
    """Stands for known facts if there are none."""
    controls: tuple[Control, Control]
    probe_claims: tuple[Control, ...]
    """With `probe_pairs`, what a model shows by whether it can check."""
    probe_pairs: tuple[ProbePair, ...]


class ShownClaim(NamedTuple):
    """A claim, read back from a prompt."""

    number: int
    claim: str
    said: str
    asked: str


def with_controls(check: Check, language: Language | Literal["auto"]) -> Check:
    """Return *check* with its claims between two controls, in a language; `auto` is that of the claims.

    A small model repeats its first answer: that is a control's.
    """
    chosen = language_of_texts(claim.content for claim in check.claims) if language == "auto" else language
    first, last = (
        CheckedClaim(addition_id="", content=control.claim, said=control.said)
        for control in load_check_template(chosen).controls
    )
    return check.model_copy(update={"claims": (first, *check.claims, last), "language": chosen})


def make_probe() -> Check:
    """Return the check that a model is probed with: the claims of both languages, and then the pairs."""
    claims = tuple(CheckedClaim(addition_id="", content=one.claim, said=one.said) for one in _probe_items())
    known = tuple(f"probe-{number}" for number in range(len(_known_of_probe())))
    return Check(claims=claims, known=known, is_probe=True)


@cache
def probe_version() -> str:
    """Return a digest of what the probe asks, and how: another one asks each model again."""
    asked = json.dumps([load_check_template(language).model_dump() for language in LANGUAGES], ensure_ascii=False)
    return hashlib.sha256(asked.encode()).hexdigest()[:12]


def passes_probe(probe: Check, answer: Answer) -> bool:
    """Return whether *answer* to the probe has at most MAX_PROBE_ERRORS errors."""
    found, errors, known = _read_answer(probe, answer), 0, iter(probe.known)
    for number, one in enumerate(_probe_items(), 1):
        verdict = found.get(number)
        if isinstance(one, Control):
            errors += not one.is_met(verdict)
        else:
            errors += verdict is None or (next(known) in verdict.ends) != one.ends
    return errors <= MAX_PROBE_ERRORS


def _probe_items() -> list[Control | ProbePair]:
    templates = map(load_check_template, LANGUAGES)
    return [one for template in templates for one in (*template.probe_claims, *template.probe_pairs)]


def _known_of_probe() -> list[str]:
    return [one.known for one in _probe_items() if isinstance(one, ProbePair)]


def check_prompt(check: Check, known: Mapping[str, Fact], *, timezone: str = "UTC") -> str:
    """Render the prompt.

    Args:
        check: What is asked.
        known: The known facts by id.
        timezone: In which dates are shown.
    """
    template = load_check_template(check.language)
    if check.is_probe:
        lines = [f"[{number}] {text}" for number, text in enumerate(_known_of_probe(), 1)]
    else:
        parts = zip_longest(check.known, check.parts, fillvalue="")
        shown = ((number, fact, part) for number, (one, part) in enumerate(parts, 1) if (fact := known.get(one)))
        lines = [
            f"[{number}] ({local_date(fact.said_at or fact.created_at, timezone) or '?'}) {_line(part or fact.content)}"
            for number, fact, part in shown
        ]
    claims = [_render(number, claim, timezone) for number, claim in enumerate(check.claims, 1)]
    return substitute(template.prompt, known="\n".join(lines) or template.none, claims="\n".join(claims))


@cache
def load_check_template(language: Language) -> CheckTemplate:
    """Return the packaged prompt of *language*."""
    return CheckTemplate.model_validate(read_packaged("memgraph.prompts", f"check.{language}.yaml"))


def _render(number: int, claim: CheckedClaim, timezone: str) -> str:
    day = local_date(claim.said_at, timezone)
    asked = f"asked: {_line(claim.asked)}\n" if claim.asked else ""
    dated = f"said ({day})" if day else "said"
    return f"<claim {number}>\n{asked}{dated}: {_line(claim.said)}\nclaim: {_line(claim.content)}\n</claim>"


def _line(text: str) -> str:
    return escape(shorten(single_line(remove_hidden(text)), MAX_CHARS))


def read_claims(prompt: str) -> Iterator[ShownClaim]:
    """Read the claims back from a prompt; nothing from another one."""
    for number, asked, said, claim in _CLAIM.findall(prompt):
        yield ShownClaim(int(number), unescape(claim), unescape(said), unescape(asked))


def read_known(prompt: str) -> dict[int, str]:
    """Read the known facts back from a prompt, by their numbers."""
    return {int(number): unescape(content) for number, content in _KNOWN.findall(prompt)}


# -- the answer -----------------------------------------------------------------------------------


def check_schema(check: Check) -> JsonSchema:
    """Return the JSON schema of an answer; it is as strict as OpenAI's strict mode requires."""
    numbers = [str(number) for number in range(1, len(check.claims) + 1)]
    fields: JsonSchema = {
        "follows": {"type": "string", "enum": list(get_args(Follows))},
        "as": {"type": "string", "enum": list(get_args(Modality))},
        "ends": {"type": "array", "items": {"type": "integer"}},
        "same": {"type": ["integer", "null"]},
    }
    verdict = json_object(fields, {}, strict=True)
    return {
        "title": "check",
        "description": "For each claim, whether it follows from the user's words, and what it ends.",
        **json_object(dict.fromkeys(numbers, verdict), {}, strict=True),
    }


def with_answer(check: Check, answer: Answer) -> Check:
    """Return *check* with the model's verdicts; with none if it answered a control wrongly, or not readably.

    What the answer says of numbers that were not shown is ignored.
    """
    found = _read_answer(check, answer)
    verdicts = tuple(found.get(number) for number in range(1, len(check.claims) + 1))
    first, last = load_check_template(check.language).controls
    is_believed = bool(verdicts) and first.is_met(verdicts[0]) and last.is_met(verdicts[-1])
    return check.model_copy(update={"verdicts": verdicts if is_believed else ()})


def _read_answer(check: Check, answer: Answer) -> dict[int, ClaimVerdict]:
    text = answer.text[-_MAX_ANSWER:].rpartition("</think>")[2]
    return find_last(text, lambda value: _as_verdicts(value, check), "{") or {}


def _as_verdicts(value: object, check: Check) -> dict[int, ClaimVerdict] | None:
    """Return the verdicts in a JSON object by the numbers of their claims; None without any."""
    items = as_object(value).items()
    found = {int(key): one for key, item in items if key.isdecimal() and (one := _as_verdict(item, check))}
    inner = (_as_verdicts(item, check) for _, item in items)
    return found or next((verdicts for verdicts in inner if verdicts), None)


def _as_verdict(value: object, check: Check) -> ClaimVerdict | None:
    given = as_object(value) or {"follows": value}
    follows, modality = (str(given.get(key, "")).strip().lower() for key in ("follows", "as"))
    if follows not in get_args(Follows):
        return None
    ends = [place for number in as_list(given.get("ends")) if (place := _place_of(number, check)) is not None]
    same = _place_of(given.get("same"), check)
    return ClaimVerdict(
        follows=cast("Follows", follows),
        modality=cast("Modality", modality if modality in get_args(Modality) else "asserted"),
        ends=tuple(dict.fromkeys(check.known[place] for place in ends)),
        ended_parts=tuple(part for place in ends for part in check.parts[place : place + 1] if part),
        same="" if same is None else check.known[same],
    )


def _place_of(number: object, check: Check) -> int | None:
    """Return the place in `known` of a number of the answer; None if it was not shown."""
    if not isinstance(number, int) or isinstance(number, bool):
        return None
    return number - 1 if 0 < number <= len(check.known) else None
