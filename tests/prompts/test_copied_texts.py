"""What was copied from the prompt is recognised, and what the user said is not taken for a copy."""

from __future__ import annotations

import pytest

from memgraph.analysis.words import LANGUAGES, Language
from memgraph.models import Prompt
from memgraph.policy import Policy
from memgraph.prompts.template import PromptTexts, load_template, substitute
from memgraph.prompts.update_prompt import packaged_instructions
from memgraph.sections import DEFAULT_SECTIONS


def prompt(human: str, language: Language = "en") -> Prompt:
    """A prompt with the packaged instructions."""
    instructions = packaged_instructions(language, Policy(summaries="update"))
    return Prompt(system=instructions.system, examples=instructions.examples, human=human)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_fact_of_the_examples_is_recognised(language: Language) -> None:
    """Its content, its quote and its summary: an answer that copies an example changes nothing."""
    texts = PromptTexts(prompt("I live in Oslo.", language))
    for example in load_template(language).examples:
        for item in (*example.new_facts, *example.summaries):
            copied = [item[key] for key in ("content", "quote", "text") if key in item]
            assert all(texts.is_copied(text) for text in copied)
            assert any(texts.is_copied(text, is_quoted=True) for text in copied)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_rule_is_recognised(language: Language) -> None:
    """A line of the rules is not a fact."""
    template, texts = load_template(language), PromptTexts(prompt("I live in Oslo.", language))
    rules = substitute(template.summaries, sections=template.render_sections(DEFAULT_SECTIONS))

    assert all(texts.is_copied(line.strip("- ")) for line in rules.splitlines())


def test_a_name_that_the_user_says_is_not_a_copy() -> None:
    """There may be a Quillhaven."""
    assert PromptTexts(prompt("I live in Oslo.")).is_copied("Quillhaven is nice.", is_quoted=True)
    assert not PromptTexts(prompt("I live in quillhaven.")).is_copied("Quillhaven is nice.", is_quoted=True)


def test_a_few_words_of_the_rules_are_not_a_copy() -> None:
    """They occur by chance: "likes tea" is in "likes teaching", and "one" is everywhere."""
    texts = PromptTexts(prompt("I live in Oslo."))

    assert not any(texts.is_copied(text) for text in ("One.", "Likes tea.", "Small talk"))


def test_a_sentence_about_a_name_that_the_user_says_is_not_a_copy() -> None:
    """It may be the same as that of an example."""
    copied = "Lives in Quillhaven since May 2019."

    assert not PromptTexts(prompt("We moved to Quillhaven!")).is_copied(copied)


def test_a_sentence_that_the_user_says_is_not_a_copy() -> None:
    """Even if it is in the rules."""
    rule = "Do not repeat known facts."

    assert PromptTexts(prompt("I live in Oslo.")).is_copied(rule)
    assert not PromptTexts(prompt(f"My motto: {rule}")).is_copied(rule)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_names_are_in_the_examples_only(language: Language) -> None:
    """A word of the rules would make every fact with it a copy."""
    template = load_template(language)
    shown = "".join(example.conversation + example.facts for example in template.examples).casefold()

    assert all(word.casefold() in shown for word in template.example_words)
    assert not any(word.casefold() in template.system.casefold() for word in template.example_words)
