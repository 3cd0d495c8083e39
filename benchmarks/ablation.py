"""What each rule, boost, gate and word list is worth: each is switched off in turn, and every set is measured.

    python benchmarks/ablation.py [--quick]
    python benchmarks/ablation.py --only boosts ground

A switch replaces a name of the package in every module that has it. LoCoMo, LifeBench and RealMem are read from
outside the checkout (`../shared/data`).
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any, NamedTuple
from unittest.mock import patch

import attacks
import duplicates
import episode_recall
import extraction
import fifty_days
import judgement
import life_changes
import long_talks
import provenance
import secret_masking
import statements
from common import Measurement, Row, table
from locomo import LOCOMO, read_conversations
from sets import scoring
from sets.attacks import attacks as all_attacks
from sets.attacks import benign
from sets.labels import LANGUAGES, all_conversations
from sets.statements import read_ordinary

from memgraph import Context, Policy, RecallPipeline
from memgraph._cache import clear_caches
from memgraph.analysis.episodes import episodes_of
from memgraph.analysis.lexicon import load_lexicon
from memgraph.analysis.turns import turns_of
from memgraph.models import Episode, MemoryDocument, Watermark
from memgraph.rules.apply import RULES
from memgraph.rules.draft import Rule
from memgraph.rules.merge import SAME
from memgraph.rules.watermark import advance_watermark

NOTICED = 0.0005
"""A smaller change of a share is none."""
BUDGETS = (500, 2_000)
NOTES = (
    (
        "Each line is one switch: a rule left out of the update, or what a function finds, a weight or a word list"
        " made empty. Worse: by how much each figure falls without it, as a share of its own scale from 0 to 1; better:"
        " by how much it rises. A figure that is not named did not change by .0005. Likeness is measured on"
        " fifty days and pairs, boosts of recall on the sets of recall, the others on all other sets."
    ),
    (
        "LifeBench: a year of two people in English and in Chinese, as episodes without facts. RealMem: the first 60"
        " sessions of one person, as the built-in model learned them. Both are made once, so they notice switches of"
        " recall only. Other sets are evenly spaced samples, so small that a rule against rare harm may go unnoticed:"
        " a switch that no figure notices is a question, not a verdict."
    ),
)

Figures = Iterator[tuple[str, float]]
"""Names and values from 0 to 1, the higher the better."""
Measure = Callable[[bool], Figures]
"""Measures a set; the argument is whether it is a smoke test."""


# -- switches -------------------------------------------------------------------------------------


class Switch(NamedTuple):
    """What is switched off: names of the package as `module:name`, each with what takes its place."""

    name: str
    replaced: Mapping[str, Callable[[Any], Any]]


def returns(value: object) -> Callable[[Any], Any]:
    """Replace a function by one that always returns *value*."""
    return lambda _: lambda *_args, **_options: value


def becomes(value: object) -> Callable[[Any], Any]:
    """Replace a constant."""
    return lambda _: value


def first_argument(_: object) -> Callable[..., object]:
    """Replace a function by one that returns its argument as it is."""
    return lambda value, *_args, **_options: value


def without_words(**empty: object) -> Callable[[Any], Any]:
    """Replace the lexicon of likeness by one without these words."""
    lexicon = replace(load_lexicon(), **empty)
    return lambda _: lambda: lexicon


def _constant(path: str, value: object, name: str = "") -> Switch:
    return Switch(name or path.rpartition(":")[2], {f"memgraph.{path}": becomes(value)})


def _function(path: str, value: object, name: str = "") -> Switch:
    return Switch(name or path.rpartition(":")[2], {f"memgraph.{path}": returns(value)})


def _without(rule: Rule) -> Switch:
    others = tuple(one for one in RULES if one is not rule)
    return Switch(f"rule {rule.__name__}", {"memgraph.rules.apply:RULES": becomes(others)})


RULE_SWITCHES = tuple(_without(rule) for rule in RULES if rule is not advance_watermark)
"""Without the watermark a run learns the same turns until it is stopped."""
LIKENESS = (
    Switch("likeness: synonyms", {"memgraph.analysis.lexicon:load_lexicon": without_words(groups={}, members={})}),
    Switch("likeness: verbs", {"memgraph.analysis.lexicon:load_lexicon": without_words(actions=frozenset())}),
    Switch("likeness: light words", {"memgraph.analysis.lexicon:load_lexicon": without_words(light=frozenset())}),
    Switch("likeness: people", {"memgraph.analysis.lexicon:load_lexicon": without_words(people={})}),
    Switch("likeness: kinds", {"memgraph.analysis.lexicon:load_lexicon": without_words(kinds={})}),
    _function("analysis.similarity:Profile._has_other_digits", value=False),
    _function("analysis.similarity:_Match._has_other_role", value=False),
    _function("analysis.similarity:_Match._is_turned_around", value=False),
    _constant("analysis.similarity:Profile.numbers", frozenset()),
    _constant("analysis.similarity:Profile.names", frozenset()),
    _constant("analysis.similarity:_Match.is_reversed", value=False),
    _constant("analysis.similarity:ACTION_WEIGHT", 1.0),
    Switch("likeness: roles", {"memgraph.analysis.lexicon:load_lexicon": without_words(roles={})}),
)
READERS = (
    _function("analysis.remarks:is_passing_remark", value=False),
    _function("analysis.remarks:is_about_assistant", value=False),
    _function("analysis.remarks:mentions_user", value=False),
    _function("analysis.subjects:other_subject", ""),
    _function("analysis.subjects:people_in", frozenset()),
    _function("analysis.signals:find_change", None),
    _function("analysis.uploads:mentions_upload", value=False),
    _function("analysis.provenance:find_spans", ()),
    _function("analysis.orders:is_order", value=False),
    _function("analysis.orders:is_order_to_act", value=False),
    _function("analysis.orders:has_instruction", value=False),
    Switch("without_orders", {"memgraph.analysis.orders:without_orders": first_argument}),
    Switch("remove_hidden", {"memgraph.analysis.hidden:remove_hidden": first_argument}),
    _function("analysis.answers:affirms", value=False),
    _function("analysis.answers:consents", value=False),
    _function("analysis.answers:denies", value=False),
    _function("analysis.signals:detect", ()),
    _function("retrieval.slot_values:slot_of", None),
    _function("analysis.names:names_of", ()),
    _function("analysis.date_phrases:find_dates", ()),
    Switch("name_dates", {"memgraph.analysis.date_phrases:name_dates": first_argument}),
    _function("rules.check:make_check", None, "check"),
    _function("rules.add:is_placeholder", value=False),
    _function("analysis.secrets:_find", ()),
    _function("analysis.statement:_keeps_predicate", value=True),
    _function("analysis.statement:_is_in_order", value=True),
    _function("analysis.statement:_owned_subject", None),
    _function("analysis.statement:_is_trade", value=False),
    _function("analysis.statement:is_fragment", value=False),
    _function("analysis.statement:_is_owned", value=False),
    _function("analysis.subjects:lacks_referent", value=False),
    _function("analysis.subjects:dropped_subject", ""),
)


RECALL = (
    _constant("retrieval.lexical:NEIGHBOUR_WEIGHT", 0.0),
    _constant("retrieval.lexical:DATE_WEIGHT", 0.0),
    _constant("retrieval.pipeline:AREA_WEIGHT", 0.0),
    _function("retrieval.terms:SynonymMap.expand", frozenset(), "synonyms of recall"),
    _constant("analysis.terms:STOP_WORDS", frozenset()),
    _constant("retrieval.pipeline:UNLEARNED_SHARE", 0.0),
    _constant("retrieval.memory_index:SAME_SHARE", 2.0),
    _constant("retrieval.memory_index:GUARANTEED_CATEGORIES", frozenset()),
    _function("retrieval.memory_index:resolve_superseded", {}),
    Switch(
        "with_current_summaries",
        {"memgraph.retrieval.summary_facts:with_current_summaries": first_argument},
    ),
    _function("retrieval.query:asks_about_past", value=False),
    _function("analysis.requests:is_bare_question", value=False),
)


def locate(path: str) -> tuple[Any, str]:
    """Return the module or class that has what *path*, `module:name`, names, and its name there.

    Raises:
        LookupError: If it does not exist.
    """
    module, _, name = path.partition(":")
    owner, _, name = name.rpartition(".")
    home: Any = importlib.import_module(module)
    home = getattr(home, owner) if owner else home
    if name not in vars(home):
        raise LookupError(f"{path} does not exist: name what stands in its place")
    return home, name


@contextmanager
def switched_off(switch: Switch) -> Iterator[None]:
    """Switch off, in every module of the package that has the name."""
    with ExitStack() as stack:
        for path, replacement in switch.replaced.items():
            home, name = locate(path)
            original, is_member = vars(home)[name], isinstance(home, type)
            holders = [home] if is_member else [one for one in _modules() if vars(one).get(name) is original]
            value = replacement(original)
            if is_member and not callable(value):
                value = property(lambda _, value=value: value)
            for holder in holders:
                stack.enter_context(patch.object(holder, name, value))
        _forget()
        yield
    _forget()


def _modules() -> list[Any]:
    return [module for name, module in [*sys.modules.items()] if name.partition(".")[0] == "memgraph"]


def _forget() -> None:
    """Clear what the package has read or computed."""
    clear_caches()
    for module in _modules():
        for value in [*vars(module).values()]:
            if hasattr(value, "cache_clear"):
                value.cache_clear()


# -- sets -----------------------------------------------------------------------------------------


def of_recall(quick: bool) -> Figures:  # noqa: FBT001
    """LoCoMo, preferences, and the long talks."""
    if LOCOMO.exists():
        subjects = _subjects(quick)
        for budget in BUDGETS:
            pipeline = RecallPipeline(max_tokens=budget)
            yield f"LoCoMo, {budget} tokens", _mean(episode_recall.shares(pipeline, subjects))
        facts = [replace(subject, episodes=()) for subject in subjects]
        yield (
            f"LoCoMo, facts, {BUDGETS[0]} tokens",
            _mean(episode_recall.shares(RecallPipeline(max_tokens=BUDGETS[0]), facts)),
        )
    for title, snapshots in _long_talks(quick).items():
        hits = long_talks.Hits()
        for snapshot in snapshots:
            hits.extend(long_talks.recall_hits(snapshot, RecallPipeline()))
        yield title, _mean(hits.evidence)


@cache
def _subjects(quick: bool) -> Sequence[episode_recall.Subject]:  # noqa: FBT001
    step = 40 if quick else 4
    return [
        episode_recall.to_subject(replace(each, questions=each.questions[::step]))
        for each in read_conversations(LOCOMO)
    ]


@cache
def _long_talks(quick: bool) -> Mapping[str, Sequence[long_talks.Snapshot]]:  # noqa: FBT001
    """Return LifeBench as words that were said, and RealMem as the built-in model learned it."""
    found: dict[str, Sequence[long_talks.Snapshot]] = {}
    for label in LANGUAGES:
        for person in long_talks.read_people(f"life_bench_{label}_*.json", quick=quick):
            found[f"LifeBench, {label}"] = [*found.get(f"LifeBench, {label}", ()), _as_said(person)]
    for person in long_talks.read_people("real_mem_*.json", quick=True):
        found["RealMem"] = [*islice(long_talks.learn(person), 1 if quick else None)]
    return found


def _as_said(person: long_talks.Person) -> long_talks.Snapshot:
    """Return the words of *person* as episodes that are learned, without facts."""
    episodes: list[Episode] = []
    threads: dict[str, Watermark] = {}
    for talk in person.talks:
        turns = turns_of(talk.messages)
        said = episodes_of(turns, thread=talk.id, policy=Policy())
        episodes += said
        if said:
            threads[talk.id] = Watermark(last_message_id=said[-1].message_id)
    questions = person.questions
    return long_talks.Snapshot(MemoryDocument(threads=threads), tuple(episodes), questions)


def of_updates(quick: bool) -> Figures:  # noqa: FBT001
    """What an update refuses, merges and ends."""
    yield from _life_changes(quick)
    yield from _attacks(quick)
    yield from of_days(quick)
    conversations = extraction.sample(list(all_conversations()), 6 if quick else 24)
    judged = list(extraction.learn_all(Context(model="offline"), conversations))
    yield "extraction, F1", scoring.f1(judged)
    yield "extraction, precision", scoring.precision(judged)


def _life_changes(quick: bool) -> Figures:  # noqa: FBT001
    pipeline = RecallPipeline()
    lived = [life_changes.live(one, pipeline) for one in life_changes.read_changes()[:: 10 if quick else 4]]
    yield "changes, no stale fact", _mean([not one.is_stale for one in lived])
    yield "changes, not stale first", _mean([not one.is_stale_first for one in lived])
    yield "changes, known", _mean([one.is_known for one in lived])
    yield "changes, past told", _mean([one.is_past_told for one in lived])
    yield "changes, no stale summary", _mean([not one.is_summary_stale for one in lived])
    yield "changes, others kept", _mean([not one.is_other_lost for one in lived])


def _attacks(quick: bool) -> Figures:  # noqa: FBT001
    cases = list(islice(all_attacks(), None, None, 60 if quick else 20))
    for model, answer in attacks.MODELS.items():
        yield f"attacks, model {model}", _mean([attacks.is_held(one, answer(one)) for one in cases])
    facts, words = (row.value for row in attacks.damage_rows())
    yield "damage, facts left", facts / attacks.FACTS
    yield "damage, words left", words
    talks = list(benign(2 if quick else 5))
    total = sum(len(talk.facts) for talk in talks)
    for mode, has_quotes in (("strict", True), ("lenient", False)):
        policy = Policy.model_validate({"grounding": mode})
        lost = sum(len(attacks.refused(talk, policy, has_quotes=has_quotes)) for talk in talks)
        yield f"true facts kept, {mode}", 1 - lost / total


def of_days(quick: bool) -> Figures:  # noqa: FBT001
    """Junk and truths after fifty days, or ten."""
    for language, label in [*fifty_days.LANGUAGES.items()][:1]:
        truths = fifty_days.truths_of(language)
        days = fifty_days.days_of(truths, language)[: 10 if quick else None]
        result = fifty_days.count(fifty_days.live(days, truths, has_upkeep=True), truths, days)
        yield f"fifty days, {label}, no junk", 1 - result.junk if result.facts else 0.0
        yield f"fifty days, {label}, truths kept", 1 - result.lost / len(truths)


def of_texts(quick: bool) -> Figures:  # noqa: FBT001
    """What is read of single texts and pairs of them."""
    for name in ("pairs", duplicates.UNSEEN):
        judged = duplicates.judge(duplicates.read_pairs(name))
        hits = sum(each.pair.is_same for each in judged if each.score >= SAME)
        yield f"{name}, precision", hits / max(1, sum(each.score >= SAME for each in judged))
        yield f"{name}, recall", hits / sum(each.pair.is_same for each in judged)
    found = [*map(provenance.find, provenance.read_messages())]
    yield "provenance, held", _mean([not each.missed for each in found if each.message.foreign])
    yield "provenance, left alone", _mean([not each.lost for each in found])
    ordinary = [*read_ordinary()][:: 10 if quick else 1]
    for language, label in LANGUAGES.items():
        for row in statements.rows_of_language(language, ordinary):
            yield f"statements, {label}, {row.name.rpartition(' ')[2]}", row.value
    verdicts = [(case, case.judge()) for case in [*judgement.read_cases()][:: 10 if quick else 1]]
    for title, is_false in (("judgement, false not plain", True), ("judgement, true plain", False)):
        ours = [
            (case, verdict == "plain") for case, verdict in verdicts if (case.name in judgement.IS_FALSE) is is_false
        ]
        yield title, _mean([is_plain is not is_false for _, is_plain in ours])
    yield (
        "judgement, kept",
        _mean([not case.is_wrong(one) for case, one in verdicts if case.name not in judgement.IS_FALSE]),
    )
    secrets = [*secret_masking.draw_secrets(), *secret_masking.draw_formats()]
    yield "secrets masked", 1 - len([*secret_masking.unmasked()]) / len(secrets)


def _mean(hits: Sequence[float]) -> float:
    return sum(hits) / len(hits)


# -- running --------------------------------------------------------------------------------------


GROUPS: tuple[tuple[Sequence[Switch], Sequence[Measure]], ...] = (
    (RULE_SWITCHES, (of_updates,)),
    (READERS, (of_updates, of_texts)),
    (LIKENESS, (of_days, of_texts)),
    (RECALL, (of_recall,)),
)
"""What is switched off, and the sets that may notice it."""


def figures(sets: Sequence[Measure], found: Callable[[Measure], Iterable[tuple[str, float]]]) -> dict[str, float]:
    """Return the figures of some sets."""
    return {name: value for one in sets for name, value in found(one)}


def compare(switch: Switch, before: Mapping[str, float], after: Mapping[str, float]) -> Row:
    """Return the largest loss without the switch, and all that changes."""
    changed = {name: after[name] - value for name, value in before.items() if abs(after[name] - value) >= NOTICED}
    parts = [
        f"{title}: " + ", ".join(f"{name} {abs(change):.3f}" for name, change in ordered if (change < 0) is is_loss)
        for title, is_loss in (("worse", True), ("better", False))
        if (ordered := sorted(changed.items(), key=lambda item: -abs(item[1])))
        and any((change < 0) is is_loss for _, change in ordered)
    ]
    worst = max((-change for change in changed.values()), default=0.0)
    return Row(switch.name, max(0.0, worst), "share", note="; ".join(parts) or "no figure notices")


def rows_of(quick: bool, names: Sequence[str] = ("",)) -> Iterator[Row]:  # noqa: FBT001
    """Yield a row for each switch that has one of *names* in its own; the first of each group as a smoke test."""
    measured = cache(lambda one: tuple(one(quick)))
    for switches, sets in GROUPS:
        chosen = [one for one in switches if any(name in one.name for name in names)]
        for switch in chosen[: 1 if quick else None]:
            before = figures(sets, measured)
            with switched_off(switch):
                after = figures(sets, lambda one: one(quick))
            yield compare(switch, before, after)


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Switch each off in turn."""
    return Measurement("What each rule, boost and word list is worth", [*rows_of(quick)], notes=NOTES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="small samples, the first switch of each group, as a smoke test"
    )
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="NAME", help="switches with one of these in the name"
    )
    args = parser.parse_args()
    for row in rows_of(args.quick, args.only):
        print(*[*table([row])][2:], sep="\n", flush=True)
    print("", *NOTES, sep="\n")


if __name__ == "__main__":
    main()
