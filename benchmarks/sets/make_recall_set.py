"""Generate the recall set: memories of invented people in English and Chinese, and questions with their answers.

    python benchmarks/sets/make_recall_set.py [--check]

It writes recall.json, reproducibly, from the words in recall_words.en.yaml and recall_words.zh.yaml. With --check it
only compares the file with what it would write.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
OUTPUT = HERE / "recall.json"
SEED = 7
SIZES = (60, 80, 100, 130, 160, 200)
"""Minimum number of facts of each persona."""
_SLOT = re.compile(r"\{(\w+)\}")

Words = dict[str, Any]


@dataclass
class Persona:
    """A memory under construction, and the questions about it."""

    id: str
    language: str
    words: Words
    draw: random.Random
    facts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    questions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    used: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def add_fact(self, content: str, category: str, day: int, **extra: object) -> str:
        """Add a fact, and return its id."""
        fact_id = f"fact_{len(self.facts) + 1:04x}{self.draw.randrange(16**4):04x}"
        self.facts.append({"id": fact_id, "content": content, "category": category, "day": day, **extra})
        return fact_id

    def add_question(self, kind: str, text: str, answer: str, **extra: object) -> None:
        """Add a question."""
        known = {name: value for name, value in extra.items() if value}
        self.questions.append({"kind": kind, "text": text, "answer": answer, **known})

    def fill(self, template: str, topic: str = "") -> str:
        """Fill the slots with words; no word occurs twice within a topic."""
        return _SLOT.sub(lambda slot: self._word(slot[1], topic), template)

    def _word(self, slot: str, topic: str) -> str:
        if slot in ("person", "Relation"):
            return self.draw.choice(self.words["people" if slot == "person" else "relations"])
        used = self.used.setdefault(topic, set()) if topic else set[str]()
        free = [word for word in self.words["lists"][slot] if word not in used]
        word = self.draw.choice(free or self.words["lists"][slot])
        used.add(word)
        return word


def make_set() -> dict[str, Any]:
    """Generate the whole set."""
    return {
        "personas": [
            _persona(language, number, size) for language in ("en", "zh") for number, size in enumerate(SIZES, start=1)
        ]
    }


def _persona(language: str, number: int, size: int) -> dict[str, Any]:
    words = yaml.safe_load((HERE / f"recall_words.{language}.yaml").read_text("utf-8"))
    persona = Persona(f"{language}{number}", language, words, random.Random(f"{SEED} {language} {number}"))  # noqa: S311
    families = persona.draw.sample(words["families"], min(len(words["families"]), 6 + size // 6))
    for family in families:
        _add_topic(persona, family, near=2 if size < 130 else 3)
    for correction in persona.draw.sample(words["corrections"], 3):
        _add_correction(persona, correction)
    _add_filler(persona, size)
    return {
        "id": persona.id,
        "language": language,
        "facts": _in_memory_order(persona.facts),
        "questions": persona.questions,
    }


def _add_topic(persona: Persona, family: Words, near: int) -> None:
    """Add a true fact, outdated and similar ones, and the questions about them."""
    draw, topic, category = persona.draw, family["id"], family["category"]
    templates = draw.sample(family["fact"], len(family["fact"]))
    older: list[str] = []
    outdated = ""
    if family.get("chain"):
        outdated = persona.fill(templates[-1], topic)
        older.append(persona.add_fact(outdated, category, draw.randrange(0, 100)))
    replaces = {"replaces": older} if older and draw.random() < 0.5 else {}
    content = persona.fill(templates[0], topic)
    answer = persona.add_fact(content, category, draw.randrange(120, 240), **replaces)
    for template in draw.sample(family["near"], min(near, len(family["near"]))):
        persona.add_fact(persona.fill(template, topic), "context", draw.randrange(0, 240))
    kind = ("updated, linked" if replaces else "updated, not linked") if older else "direct"
    extra: dict[str, object] = {"outdated": older}
    old, new = (_value(family["fact"], text) if older else "" for text in (outdated, content))
    if older and "switch" in family and {old, new} & set(family.get("beside", [old])):
        sentences = family["switch"][family["fact"].index(templates[0])]
        said = sentences[len(persona.questions) % len(sentences)].format(old=old, new=new)
        extra |= {"compatible": True, "said": "" if replaces else said}
    persona.add_question(kind, draw.choice(family["direct"]), answer, **extra)
    persona.add_question("no word shared", draw.choice(family["oblique"]), answer, **extra)
    if "cross" in family:
        persona.add_question("other language", family["cross"], answer, **extra)


def _value(templates: Sequence[str], content: str) -> str:
    """Return the word with which one of *templates* was filled."""
    ends = [_SLOT.split(template) for template in templates]
    start, *_, end = next(each for each in ends if content.startswith(each[0]) and content.endswith(each[-1]))
    return content.removeprefix(start).removesuffix(end)


def _add_correction(persona: Persona, correction: Words) -> None:
    answer = persona.add_fact(
        correction["fact"], "correction", persona.draw.randrange(60, 240), sourceError=correction["wrong"]
    )
    for content in correction["near"]:
        persona.add_fact(content, "context", persona.draw.randrange(0, 240))
    persona.add_question("correction", persona.draw.choice(correction["direct"]), answer)
    persona.add_question("no word shared", persona.draw.choice(correction["oblique"]), answer)


def _add_filler(persona: Persona, size: int) -> None:
    """Add facts without questions, up to *size* facts."""
    contents = {fact["content"] for fact in persona.facts}
    while len(persona.facts) < size:
        content = persona.fill(persona.draw.choice(persona.words["filler"]))
        if content not in contents:
            contents.add(content)
            persona.add_fact(content, "context", persona.draw.randrange(0, 240))


def _in_memory_order(facts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Order facts as in a memory: by conversation, a few facts in each."""
    ordered = sorted(facts, key=lambda fact: (fact["day"], fact["id"]))
    return [
        {
            **{key: value for key, value in fact.items() if key != "day"},
            "confidence": (0.8, 0.9, 0.95)[number % 3],
            "createdAt": f"2026-{fact['day'] // 28 + 1:02}-{fact['day'] % 28 + 1:02}T09:00:00Z",
            "source": f"thread_{number // 5}",
        }
        for number, fact in enumerate(ordered)
    ]


def render() -> str:
    """Render the file with one line per fact and question, so that diffs are readable."""
    personas = ",\n".join(map(_lines, make_set()["personas"]))
    return f'{{\n"personas": [\n{personas}\n]\n}}\n'


def _lines(persona: dict[str, Any]) -> str:
    parts = [f'"id": "{persona["id"]}", "language": "{persona["language"]}"']
    for name in ("facts", "questions"):
        rows = ",\n".join(json.dumps(item, ensure_ascii=False) for item in persona[name])
        parts.append(f'"{name}": [\n{rows}\n]')
    return f"{{{', '.join(parts)}}}"


def main() -> None:
    if "--check" in sys.argv[1:]:
        if OUTPUT.read_text("utf-8") != render():
            raise SystemExit(f"{OUTPUT} is outdated: run {Path(__file__).name}")
        print(f"{OUTPUT.name} is up to date")
    else:
        OUTPUT.write_bytes(render().encode())
        print(f"wrote {OUTPUT}")


if __name__ == "__main__":
    main()
