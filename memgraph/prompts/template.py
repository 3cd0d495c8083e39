"""The texts of the prompt: one packaged YAML file per language, or the user's own instructions."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from memgraph.errors import ConfigError

Language = Literal["en", "zh"]


class Template(BaseModel):
    """The parts of a prompt; `{name}` is a placeholder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    system: str
    """Static instructions."""
    human: str
    """Contains {memory}, {conversation} and {hints}."""
    hints: str
    """Contains {hints}; omitted without hints."""
    problem: str
    """The correction request after an unreadable answer; contains {problem}."""
    nothing: str
    """Shown if there are no facts."""
    example_words: tuple[str, ...]
    """Made-up names that occur only in the example in `system`."""


@cache
def load_template(language: Language) -> Template:
    """Return the packaged prompt of *language*; it is read once."""
    text = files("memgraph.prompts").joinpath(f"update.{language}.yaml").read_text(encoding="utf-8")
    return Template.model_validate(yaml.safe_load(text))


def validate_instructions(text: str, *, source: str) -> str:
    """Return the user's own instructions if they describe a readable answer; *source* is named in the error.

    Raises:
        ConfigError: If they do not name the keys of the answer.
    """
    missing = [key for key in ("user", "history", "newFacts") if key not in text]
    if missing:
        raise ConfigError(
            f"{source} does not describe the answer: it must ask for a JSON object with the keys "
            f"user, history, newFacts (and factsToRemove); {', '.join(missing)} not found in it"
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
