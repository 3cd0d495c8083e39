"""The texts of the prompt: one packaged YAML file per language, or the user's own instructions."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path

import yaml
from pydantic import BaseModel, ValidationError

from memgraph._yaml import load_yaml, read_packaged
from memgraph.analysis.normalize import words_of
from memgraph.analysis.words import LANGUAGES, Language
from memgraph.categories import Category
from memgraph.errors import ConfigError
from memgraph.models import Prompt, PromptExample
from memgraph.sections import SummarySection


class TemplateExample(BaseModel, frozen=True, extra="forbid"):
    """A made-up conversation, and what is new in it."""

    facts: str
    """The lines of the known facts; empty if there are none."""
    conversation: str
    new_facts: tuple[dict[str, str | int | list[str]], ...]
    summaries: tuple[dict[str, str], ...] = ()

    def answer(self, *, sections: Collection[str], categories: Collection[str]) -> str:
        """Return the answer as compact JSON, with the summaries whose keys are in *sections*.

        A fact of a category that is not one of *categories* is of "context".
        """
        facts = [fact if fact["category"] in categories else {**fact, "category": "context"} for fact in self.new_facts]
        found: dict[str, object] = {"newFacts": facts}
        if summaries := [summary for summary in self.summaries if summary["section"] in sections]:
            found["summaries"] = summaries
        return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


class Template(BaseModel, frozen=True, extra="forbid"):
    """The parts of a prompt; `{name}` is a placeholder."""

    system: str
    """Static rules; contains {categories}, {slots} and {summaries}."""
    categories: Mapping[str, str]
    """What the rules call the built-in categories."""
    choice: str
    """What the rules call others; contains {name} and {description}."""
    separator: str
    """Between the categories, and between the summaries."""
    summaries: str
    """The rule about summaries; omitted if they are not asked for. Contains {sections}."""
    profile: str
    """The rule about the profile, omitted without one. Contains {fields}."""
    sections: Mapping[str, str]
    """What the rule calls the built-in summaries."""
    human: str
    """Contains {today}, {memory}, {conversation} and {hints}."""
    hints: str
    """Contains {hints}; omitted without hints."""
    as_said: str
    """What the lines of claims that are kept as said are, and how to name one; omitted without them."""
    lasting: str
    """The hint at a sentence that may be worth remembering; contains {number}, that of its turn, and {sentence}."""
    problem: str
    """The correction request after an unreadable answer; contains {problem}."""
    examples: tuple[TemplateExample, ...]
    example_words: tuple[str, ...]
    """Made-up names that occur only in the examples."""

    def render_categories(self, categories: Iterable[Category]) -> str:
        """Return *categories* as the rules list them."""
        return self.separator.join(
            self.categories[category.name]
            if category.is_built_in
            else substitute(self.choice, name=category.name, description=category.description)
            for category in categories
        )

    def render_sections(self, sections: Iterable[SummarySection]) -> str:
        """Return the names of the summaries *sections* as the rules list them."""
        return self.separator.join(
            substitute(self.choice, name=section.name, description=section.instruction)
            if section.instruction
            else self.sections[section.name]
            for section in sections
        )


class UpkeepTemplate(BaseModel, frozen=True, extra="forbid"):
    """The parts of the prompt of the upkeep."""

    system: str
    """Static rules."""
    human: str
    """Contains {today}, {groups}, {stale} and {summaries}."""
    summaries: str
    """The rule about summaries; omitted if they are not asked for. Contains {sections}."""
    examples: tuple[PromptExample, ...]


class Instructions(BaseModel, frozen=True, extra="forbid"):
    """What comes before the memory and the conversation: the rules, and examples as earlier chat turns."""

    system: str
    examples: tuple[PromptExample, ...] = ()


@cache
def load_template(language: Language) -> Template:
    """Return the packaged prompt of *language*; it is read once."""
    return Template.model_validate(read_packaged("memgraph.prompts", f"update.{language}.yaml"))


@cache
def load_upkeep_template(language: Language) -> UpkeepTemplate:
    """Return the packaged prompt of the upkeep in *language*; it is read once."""
    return UpkeepTemplate.model_validate(read_packaged("memgraph.prompts", f"upkeep.{language}.yaml"))


def substitute(template: str, **values: str) -> str:
    """Replace each `{name}` of *template* by its value, in order; braces in the values are left alone."""
    parts: list[str] = []
    rest = template
    for name, value in values.items():
        before, _, rest = rest.partition(f"{{{name}}}")
        parts += [before, value]
    return "".join([*parts, rest])


def parse_instructions(text: str) -> Instructions:
    """Return the user's own instructions: a text, or YAML with `system` and `examples`, each with `human` and `ai`.

    Raises:
        ValueError: If it is such YAML, but not valid.
    """
    if not text.lstrip().startswith("system:"):
        return Instructions(system=text)
    try:
        return Instructions.model_validate(load_yaml(text))
    except (yaml.YAMLError, ValidationError) as error:
        raise ValueError(f"it is not YAML with system and examples, each with human and ai: {error}") from error


def validate_instructions(text: str, *, source: str) -> str:
    """Return the user's own instructions if they describe a readable answer; *source* is named in the error.

    Raises:
        ConfigError: If they do not name the key of the answer, or are invalid YAML.
    """
    try:
        parse_instructions(text)
    except ValueError as error:
        raise ConfigError(f"{source}: {error}") from error
    if "newFacts" not in text:
        raise ConfigError(
            f"{source} does not describe the answer: it must ask for a JSON object with the key newFacts, a list of "
            "facts with content and category; newFacts not found in it"
        )
    return text


def read_instructions(path: Path, *, setting: str = "prompt_path") -> str:
    """Read the user's own instructions from the file that *setting* names.

    Raises:
        ConfigError: If the file cannot be read, or does not describe the answer.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{setting} {path} cannot be read: {error}") from error
    return validate_instructions(text, source=f"{setting} {path}")


# -- copies of the prompt ---------------------------------------------------------------------------

MIN_COPIED_WORDS = 4
"""Words, or Chinese characters, of a text that occurs in the prompt by copying; fewer occur by chance."""


class PromptTexts:
    """What an item of an answer may be a copy of."""

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        words = {word.casefold() for language in LANGUAGES for word in load_template(language).example_words}
        shown = prompt.human.casefold()
        self._spoken_words = {word for word in words if word in shown}
        self._example_words = words - self._spoken_words

    def is_copied(self, *texts: str, is_quoted: bool = False) -> bool:
        """Return whether one of *texts* was copied from the examples or the rules.

        It was if it contains a made-up name that only the examples contain, or if it is in the rules or the examples,
        but not in the memory or the conversation. That does not count if *is_quoted*: the user said it.
        """
        if any(word in text for text in map(str.casefold, texts) for word in self._example_words):
            return True
        return not is_quoted and self._is_static(texts)

    def _is_static(self, texts: Sequence[str]) -> bool:
        unspoken = [text for text in texts if not any(map(text.casefold().__contains__, self._spoken_words))]
        long = [_spaced(text) for text in unspoken if len(words_of(text)) >= MIN_COPIED_WORDS]
        return any(words in self._static and words not in self._shown for words in long)

    @cached_property
    def _static(self) -> str:
        """The folded words of the rules and the examples, each between two spaces."""
        examples = (text for example in self._prompt.examples for text in (example.human, example.ai))
        return _spaced("\n".join([self._prompt.system, *examples]))

    @cached_property
    def _shown(self) -> str:
        """The folded words of the memory and the conversation."""
        return _spaced(self._prompt.human)


def _spaced(text: str) -> str:
    return f" {' '.join(words_of(text))} "
