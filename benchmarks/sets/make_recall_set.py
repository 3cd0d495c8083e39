"""Make the recall set: memories of made-up people in English and Chinese, and questions with the facts that answer.

    python benchmarks/sets/make_recall_set.py [--check]

It writes recall.json, the same bytes at every run, from the words in recall_words.en.yaml and recall_words.zh.yaml.
With --check it only says whether the file is the one it would write.
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
MADE = HERE / "recall.json"
SEED = 7
SIZES = (60, 80, 100, 130, 160, 200)
"""Facts of each persona, at least."""
_SLOT = re.compile(r"\{(\w+)\}")

Words = dict[str, Any]


@dataclass
class Persona:
    """A memory in the making, and the questions about it."""

    id: str
    language: str
    words: Words
    draw: random.Random
    facts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    questions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    used: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def fact(self, content: str, category: str, day: int, **more: object) -> str:
        """Keep a fact, and return its id."""
        fact_id = f"fact_{len(self.facts) + 1:04x}{self.draw.randrange(16**4):04x}"
        self.facts.append({"id": fact_id, "content": content, "category": category, "day": day, **more})
        return fact_id

    def ask(self, kind: str, text: str, answer: str, outdated: Sequence[str] = ()) -> None:
        """Keep a question."""
        asked = {"kind": kind, "text": text, "answer": answer}
        self.questions.append({**asked, "outdated": list(outdated)} if outdated else asked)

    def filled(self, template: str, topic: str = "") -> str:
        """Put words into the slots; of one topic, no word twice."""
        return _SLOT.sub(lambda slot: self._word(slot[1], topic), template)

    def _word(self, slot: str, topic: str) -> str:
        if slot in ("person", "Relation"):
            return self.draw.choice(self.words["people" if slot == "person" else "relations"])
        taken = self.used.setdefault(topic, set()) if topic else set[str]()
        free = [word for word in self.words["lists"][slot] if word not in taken]
        word = self.draw.choice(free or self.words["lists"][slot])
        taken.add(word)
        return word


def made() -> dict[str, Any]:
    """Make the whole set."""
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
        _tell(persona, family, near=2 if size < 130 else 3)
    for correction in persona.draw.sample(words["corrections"], 3):
        _correct(persona, correction)
    _fill(persona, size)
    return {
        "id": persona.id,
        "language": language,
        "facts": _in_order(persona.facts),
        "questions": persona.questions,
    }


def _tell(persona: Persona, family: Words, near: int) -> None:
    """What is true, what was true before, what only looks like it, and the questions about it."""
    draw, topic, category = persona.draw, family["id"], family["category"]
    templates = draw.sample(family["fact"], len(family["fact"]))
    older: list[str] = []
    if family.get("chain"):
        older.append(persona.fact(persona.filled(templates[-1], topic), category, draw.randrange(0, 100)))
    replaces = {"replaces": older} if older and draw.random() < 0.5 else {}
    content = persona.filled(templates[0], topic)
    answer = persona.fact(content, category, draw.randrange(120, 240), **replaces)
    for template in draw.sample(family["near"], min(near, len(family["near"]))):
        persona.fact(persona.filled(template, topic), "context", draw.randrange(0, 240))
    kind = ("updated, linked" if replaces else "updated, not linked") if older else "direct"
    persona.ask(kind, draw.choice(family["direct"]), answer, older)
    persona.ask("no word shared", draw.choice(family["oblique"]), answer, older)
    if "cross" in family:
        persona.ask("other language", family["cross"], answer, older)


def _correct(persona: Persona, correction: Words) -> None:
    answer = persona.fact(
        correction["fact"], "correction", persona.draw.randrange(60, 240), sourceError=correction["wrong"]
    )
    for content in correction["near"]:
        persona.fact(content, "context", persona.draw.randrange(0, 240))
    persona.ask("correction", persona.draw.choice(correction["direct"]), answer)
    persona.ask("no word shared", persona.draw.choice(correction["oblique"]), answer)


def _fill(persona: Persona, size: int) -> None:
    """Facts that nobody asks for, until there are enough."""
    said = {fact["content"] for fact in persona.facts}
    while len(persona.facts) < size:
        content = persona.filled(persona.draw.choice(persona.words["filler"]))
        if content not in said:
            said.add(content)
            persona.fact(content, "context", persona.draw.randrange(0, 240))


def _in_order(facts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Facts as a memory holds them: by the conversations they were learned in, a few of each."""
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


def text() -> str:
    """The file as it is written: a line a fact and a line a question, so that changes can be read."""
    personas = ",\n".join(map(_lines, made()["personas"]))
    return f'{{\n"personas": [\n{personas}\n]\n}}\n'


def _lines(persona: dict[str, Any]) -> str:
    parts = [f'"id": "{persona["id"]}", "language": "{persona["language"]}"']
    for name in ("facts", "questions"):
        rows = ",\n".join(json.dumps(item, ensure_ascii=False) for item in persona[name])
        parts.append(f'"{name}": [\n{rows}\n]')
    return f"{{{', '.join(parts)}}}"


def main() -> None:
    if "--check" in sys.argv[1:]:
        if MADE.read_text("utf-8") != text():
            raise SystemExit(f"{MADE} is not what the words make: run {Path(__file__).name}")
        print(f"{MADE.name} is what the words make")
    else:
        MADE.write_bytes(text().encode())
        print(f"wrote {MADE}")


if __name__ == "__main__":
    main()
