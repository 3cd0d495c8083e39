"""Scope <-> path: where the document of a scope lies below the base folder.

{base}/memory.json                                 user "default", the scope without a user
{base}/agents/{agent}/memory.json                  the same, with an agent
{base}/users/{user}/memory.json                    any other user
{base}/users/{user}/agents/{agent}/memory.json     the same, with an agent
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from memgraph.errors import ConfigError, IdentityError
from memgraph.models import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator


def default_folder() -> Path:
    """The platform's folder for user data."""
    import platformdirs

    return platformdirs.user_data_path("memgraph", appauthor=False)


def absolute(path: str | Path | None) -> Path:
    """Return *path* from the working folder, `~` expanded; the platform's folder for user data without one."""
    if not path:
        return default_folder()
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError as error:
        raise ConfigError(f"{path}: {error}") from None


def path_of_url(scheme: str, location: str) -> str:
    """Return the path in `SCHEME:PATH` or `SCHEME:///PATH`.

    Raises:
        ConfigError: If it names a host, as `SCHEME://HOST/PATH` does.
    """
    if not location.startswith("//"):
        return location
    if not location.startswith("///"):
        raise ConfigError(f"{scheme}:{location} names a host; write {scheme}:{location.lstrip('/')}")
    return location[2:]


DEFAULT_USER = "default"
DOCUMENT = "memory.json"
MAX_NAME_BYTES = 120
USER_ID_FILE = "user_id"
"""Beside the document of a user whose folder name is too short for the id: the id."""

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")
_SPELLED = re.compile(r"(?:[a-z0-9_-]|=[0-9a-f]{2})+")
_DIGEST = re.compile(r"=-[0-9a-f]{32}\Z")
_AGENT = re.compile(r"[a-z0-9_-]{1,64}")


def folder_name(user_id: str) -> str:
    """Return the folder name of *user_id*: no other id has it, also where case does not count.

    What is not [a-z0-9_-] becomes `=` and two hex digits for each byte of its UTF-8. A name over 120 bytes
    becomes its beginning, `=-`, and 32 hex digits of the sha256 of the id; `=-` is in no name spelled out.
    """
    name = "".join(chr(byte) if byte in _PLAIN else f"={byte:02x}" for byte in user_id.encode())
    if len(name) <= MAX_NAME_BYTES:
        return name
    digest = f"=-{hashlib.sha256(user_id.encode()).hexdigest()[:32]}"
    return name[: MAX_NAME_BYTES - len(digest)] + digest


def is_shortened(name: str) -> bool:
    """Whether a folder name does not tell its id."""
    return _DIGEST.search(name) is not None


def user_id_of(name: str) -> str | None:
    """Return the id whose folder name is *name*; None if it is none, or a shortened one."""
    if not _SPELLED.fullmatch(name):
        return None
    spelled = re.sub("=(..)", lambda match: chr(int(match[1], 16)), name)
    try:
        user_id = spelled.encode("latin-1").decode()
    except UnicodeDecodeError:
        return None
    return user_id if folder_name(user_id) == name else None


class Layout:
    """The paths below *base*; *global_name* is the file name of the global document."""

    def __init__(self, base: Path, global_name: str = DOCUMENT) -> None:
        self.base = base
        self.global_name = global_name

    def document(self, scope: Scope) -> Path:
        """The path of the document of *scope*."""
        home = self.base if scope.user_id == DEFAULT_USER else self.base / "users" / folder_name(scope.user_id)
        if scope.agent_name:
            return home / "agents" / scope.agent_name / DOCUMENT
        return home / (self.global_name if home == self.base else DOCUMENT)

    def user_id_file(self, scope: Scope) -> Path | None:
        """Where the id of the user is kept, for users whose folder name does not tell it."""
        name = folder_name(scope.user_id)
        return self.base / "users" / name / USER_ID_FILE if is_shortened(name) else None

    def documents(self) -> Iterator[tuple[Scope, Path]]:
        """Every document there is, by user and agent. What is not ours is passed over."""
        yield from self._of(DEFAULT_USER, self.base)
        for home in _folders(self.base / "users"):
            user_id = _stored_id(home) if is_shortened(home.name) else user_id_of(home.name)
            if user_id is not None and user_id != DEFAULT_USER:
                yield from self._of(user_id, home)

    def _of(self, user_id: str, home: Path) -> Iterator[tuple[Scope, Path]]:
        agents = (folder.name for folder in _folders(home / "agents") if _AGENT.fullmatch(folder.name))
        for agent in (None, *agents):
            try:
                scope = Scope(user_id, agent)
            except IdentityError:
                return
            path = self.document(scope)
            if path.is_file():
                yield scope, path


def _folders(parent: Path) -> list[Path]:
    return sorted(path for path in parent.iterdir() if path.is_dir()) if parent.is_dir() else []


def _stored_id(home: Path) -> str | None:
    """Return the id kept in a shortened folder, if it is the one the folder was made for."""
    try:
        user_id = (home / USER_ID_FILE).read_text("utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    return user_id if folder_name(user_id) == home.name else None
