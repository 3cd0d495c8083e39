"""The text of the prompt: a data file a language, and a user's own instructions checked."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict

from memgraph.errors import ConfigError
from memgraph.models import Prompt

Language = Literal["en", "zh"]


class Template(BaseModel):
    """The parts of a prompt; `{name}` marks what is filled in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    system: str
    """Static instructions."""
    human: str
    """Frame of {memory}, {conversation} and {hints}."""
    hints: str
    """Frame of the hints, left out where there are none."""
    problem: str
    """What is said when an answer could not be read: {problem}."""
    nothing: str
    """Stands where there is nothing to show."""
    example_words: tuple[str, ...]
    """Made-up names that only the example in `system` has."""


@cache
def load_template(language: Language) -> Template:
    """Read the packaged prompt of *language*, once."""
    text = files("memgraph.prompts").joinpath(f"update.{language}.yaml").read_text(encoding="utf-8")
    return Template.model_validate(yaml.safe_load(text))


def leaked_example_words(prompt: Prompt) -> frozenset[str]:
    """Names of the example that neither the conversation nor the memory holds: who says one has copied it."""
    words = {word for language in get_args(Language) for word in load_template(language).example_words}
    shown = prompt.human.casefold()
    return frozenset(word.casefold() for word in words if word.casefold() not in shown)


def checked_instructions(text: str, *, where: str) -> str:
    """Return a user's own instructions, if an answer to them could be read.

    Raises:
        ConfigError: If they do not name the keys of the answer.
    """
    missing = [key for key in ("user", "history", "newFacts") if key not in text]
    if missing:
        raise ConfigError(
            f"{where} does not describe the answer: it must ask for a JSON object with the keys "
            f"user, history, newFacts (and factsToRemove); {', '.join(missing)} not found in it"
        )
    return text


def read_instructions(path: Path) -> str:
    """Read a user's own instructions from a file.

    Raises:
        ConfigError: If the file cannot be read, or does not describe the answer.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"prompt_path {path} cannot be read: {error}") from error
    return checked_instructions(text, where=f"prompt_path {path}")


def substitute(frame: str, **values: str) -> str:
    """Put *values* where *frame* names them; braces in the values are left alone."""
    parts: list[str] = []
    rest = frame
    for name, value in values.items():
        before, _, rest = rest.partition(f"{{{name}}}")
        parts += [before, value]
    return "".join([*parts, rest])
