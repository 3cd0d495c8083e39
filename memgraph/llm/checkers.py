"""Which models can check what an update adds: the results of their probes, stored in the folder of the outbox."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, TypeAdapter, ValidationError

from memgraph._cache import LRUCache
from memgraph.errors import StorageError
from memgraph.prompts.check import probe_version
from memgraph.storage.atomic_file import locked, make_folder, read_file, replace

logger = logging.getLogger("memgraph.llm")

FILE_NAME = "checkers.json"
LOCK_SECONDS = 5.0
"""So long another process may write."""
_NAME_FIELDS = ("model_name", "model")
_URL_FIELDS = ("openai_api_base", "base_url")


class Probe(BaseModel, frozen=True):
    """What a probe has shown of a model."""

    passed: bool
    """Whether the model can check."""
    version: str
    """Of the probe: what was asked."""
    at: str
    """The day, in UTC."""


_PROBES = TypeAdapter(dict[str, Probe])


class Checkers:
    """What models have shown in a probe, so that each has one. A graph owns one. Thread-safe.

    Args:
        folder: Where the results are kept for other processes; None keeps them in this object only.
        max_models: The models without a name that are remembered, the most recently used ones.
    """

    def __init__(self, folder: Path | None = None, max_models: int = 16) -> None:
        self._path = folder / FILE_NAME if folder else None
        # an id is unique while its object exists, which the value keeps alive
        self._passed: LRUCache[int, tuple[BaseChatModel, bool]] = LRUCache(max_models)

    def passed(self, model: BaseChatModel) -> bool | None:
        """Return whether *model* can check, by its probe or its attribute `can_check`; None if unknown."""
        if known := self._passed.get(id(model)):
            return known[1]
        if (can_check := getattr(model, "can_check", None)) is not None:
            return can_check
        probe = self.probe(model)
        if probe:
            self._passed.put(id(model), (model, probe.passed))
        return probe.passed if probe else None

    def probe(self, model: BaseChatModel) -> Probe | None:
        """Return what the probe of *model* has shown, in whatever process; None if it had none of this version."""
        found = self._read().get(model_key(model))
        return found if found and found.version == probe_version() else None

    def note(self, model: BaseChatModel, *, passed: bool) -> None:
        """Remember what the probe of *model* has shown; if the file cannot be written, in this object only."""
        self._passed.put(id(model), (model, passed))
        key = model_key(model)
        if self._path is None or not key:
            return
        probe = Probe(passed=passed, version=probe_version(), at=datetime.now(UTC).date().isoformat())
        try:
            make_folder(self._path.parent)
            with locked(self._path, LOCK_SECONDS):
                replace(self._path, _PROBES.dump_json({**self._read(), key: probe}, indent=1))
        except StorageError as error:
            logger.warning("other processes probe %s again: %s", key, error)

    def _read(self) -> dict[str, Probe]:
        """Return all results; none if the file is damaged, since each model can be probed again."""
        data = read_file(self._path) if self._path else None
        try:
            return _PROBES.validate_json(data) if data else {}
        except ValidationError:
            return {}


def model_key(model: BaseChatModel) -> str:
    """Return by what a model is known to other processes: its class, name and host; empty if it has no name."""
    name = next((value for field in _NAME_FIELDS if isinstance(value := getattr(model, field, None), str)), "")
    url = next((value for field in _URL_FIELDS if isinstance(value := getattr(model, field, None), str)), "")
    host = f" at {urlsplit(url).netloc.rpartition('@')[2]}" if url else ""
    return f"{type(model).__name__} {name}{host}" if name else ""
