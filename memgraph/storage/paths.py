"""Scope <-> path: the folder layout of file storages, and absolute paths of files in general.

{base}/memory.json                                 user "default", the scope without a user
{base}/agents/{agent}/memory.json                  the same, with an agent
{base}/users/{user}/memory.json                    any other user
{base}/users/{user}/agents/{agent}/memory.json     the same, with an agent
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memgraph.errors import ConfigError, IdentityError
from memgraph.models import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator


DEFAULT_USER = "default"
DOCUMENT = "memory.json"
EPISODES = "episodes.jsonl"
HISTORY = "history.jsonl"
VECTORS = "vectors.db"
MAX_NAME_BYTES = 120
USER_ID_FILE = "user_id"
"""Holds the user id, in the folder of a user whose id does not fit into the folder name."""

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")
_ENCODED = re.compile(r"(?:[a-z0-9_-]|=[0-9a-f]{2})+")
_DIGEST = re.compile(r"=-[0-9a-f]{32}\Z")
_AGENT = re.compile(r"[a-z0-9_-]{1,64}")


def default_folder() -> Path:
    """Return the platform's folder for user data."""
    import platformdirs

    return platformdirs.user_data_path("memgraph", appauthor=False)


def absolute(path: str | Path | None) -> Path:
    """Return *path* as an absolute path, `~` expanded; None or "" is the platform's folder for user data."""
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


def sqlite_path(location: str, what: str) -> str:
    """Return the path of *what* in `sqlite:PATH`; as in SQLAlchemy, `///FILE` is relative and `////FILE` absolute.

    Raises:
        ConfigError: If it names a host, or is a database in RAM, which would be empty for each connection.
    """
    if location == ":memory:":
        raise ConfigError(f"sqlite::memory: is not supported: use memory: for {what} in RAM")
    path = path_of_url("sqlite", location)
    return path.removeprefix("/") if location.startswith("//") else path


def folder_name(user_id: str) -> str:
    """Return the folder name of *user_id*, unique even on case-insensitive file systems.

    Characters outside [a-z0-9_-] become `=` and two hex digits per UTF-8 byte. A name over 120 bytes becomes its
    beginning, `=-`, and 32 hex digits of the id's sha256; `=-` does not occur in other names.
    """
    name = "".join(chr(byte) if byte in _PLAIN else f"={byte:02x}" for byte in user_id.encode())
    if len(name) <= MAX_NAME_BYTES:
        return name
    digest = f"=-{hashlib.sha256(user_id.encode()).hexdigest()[:32]}"
    return name[: MAX_NAME_BYTES - len(digest)] + digest


def is_shortened(name: str) -> bool:
    """Whether the id cannot be decoded from a folder name."""
    return _DIGEST.search(name) is not None


def user_id_of(name: str) -> str | None:
    """Return the id whose folder name is *name*; None if it is shortened or not such a name."""
    if not _ENCODED.fullmatch(name):
        return None
    decoded = re.sub("=(..)", lambda match: chr(int(match[1], 16)), name)
    try:
        user_id = decoded.encode("latin-1").decode()
    except UnicodeDecodeError:
        return None
    return user_id if folder_name(user_id) == name else None


class ScopeFiles(NamedTuple):
    """The paths of a document and of what is kept next to it."""

    document: Path
    last_good: Path
    """The last good version of the document."""
    episodes: Path
    history: Path
    vectors: Path
    user_id: Path | None
    """Holds the user id; None if the folder name already encodes it."""


class Layout:
    """The paths below *base*; *global_name* is the file name of the global document."""

    def __init__(self, base: Path, global_name: str = DOCUMENT) -> None:
        self.base = base
        self.global_name = global_name

    def document(self, scope: Scope) -> Path:
        """Return the path of the document of *scope*."""
        home = self.base if scope.user_id == DEFAULT_USER else self.base / "users" / folder_name(scope.user_id)
        if scope.agent_name:
            return home / "agents" / scope.agent_name / DOCUMENT
        return home / (self.global_name if home == self.base else DOCUMENT)

    def files(self, scope: Scope) -> ScopeFiles:
        """Return the paths of the document of *scope* and of what is kept next to it."""
        document, name = self.document(scope), folder_name(scope.user_id)
        prefix = "" if document.name == DOCUMENT else f"{document.stem}."
        return ScopeFiles(
            document,
            last_good=document.with_name(f"{document.name}.last"),
            episodes=document.with_name(prefix + EPISODES),
            history=document.with_name(prefix + HISTORY),
            vectors=document.with_name(prefix + VECTORS),
            user_id=self.base / "users" / name / USER_ID_FILE if is_shortened(name) else None,
        )

    def scopes(self) -> Iterator[Scope]:
        """Yield the scope of every file of a document or of episodes, sorted; other files are ignored."""
        yield from self._scopes_below(DEFAULT_USER)
        for home in _folders(self.base / "users"):
            user_id = _stored_id(home) if is_shortened(home.name) else user_id_of(home.name)
            if user_id is not None and user_id != DEFAULT_USER:
                yield from self._scopes_below(user_id)

    def scopes_of(self, user_id: str) -> list[Scope]:
        """Return the scope of the user, and of every agent that has a folder below the user's."""
        home = self.document(Scope(user_id)).parent
        agents = (folder.name for folder in _folders(home / "agents") if _AGENT.fullmatch(folder.name))
        return [Scope(user_id, agent) for agent in (None, *agents)]

    def files_of(self, scope: Scope) -> list[Path]:
        """Return the files of a document and of what is kept next to it, those that a killed process left included."""
        files = self.files(scope)
        names = tuple(path.name for path in (files.document, files.episodes, files.history, files.vectors))
        folder = files.document.parent
        return [path for path in folder.iterdir() if path.name.startswith(names)] if folder.is_dir() else []

    def _scopes_below(self, user_id: str) -> Iterator[Scope]:
        try:
            scopes = self.scopes_of(user_id)
        except IdentityError:
            return
        for scope in scopes:
            files = self.files(scope)
            if files.document.is_file() or files.episodes.is_file():
                yield scope


def _folders(parent: Path) -> list[Path]:
    return sorted(path for path in parent.iterdir() if path.is_dir()) if parent.is_dir() else []


def _stored_id(home: Path) -> str | None:
    """Return the id stored in a shortened folder, if the folder name matches it."""
    try:
        user_id = (home / USER_ID_FILE).read_text("utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    return user_id if folder_name(user_id) == home.name else None
