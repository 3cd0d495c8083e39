"""Writing a file so that it is there whole or not at all, whenever the process dies."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from memgraph.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
POLL_SECONDS = 0.005
"""Between two looks at a lock that somebody else holds."""


@contextmanager
def wrap_os_errors(path: Path) -> Generator[None]:
    """Turn what the operating system refuses into a StorageError that names the file."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{error.filename or path}: {error.strerror or error}") from error


def read(path: Path) -> bytes | None:
    """Return the bytes of a file; None if there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def make_folder(folder: Path) -> None:
    """Make *folder* and what is missing above it, readable by nobody else, and there after a power cut."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in *folder* last. Windows has no way to ask for it, and needs none."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def atomic_write(path: Path, data: bytes, *, durable: bool = True) -> Generator[Path]:
    """Write *data* to a temporary file beside *path*, to be renamed to it; what was not renamed is removed.

    Its name is fixed, so that what a killed process left is written over: hold the lock of *path*.
    """
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        with open(temporary, "wb", opener=_open_private) as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def replace(path: Path, data: bytes) -> None:
    """Put *data* in the place of the file at *path*, durably."""
    with atomic_write(path, data) as temporary:
        temporary.replace(path)
        sync_folder(path.parent)


@contextmanager
def locked(path: Path, timeout: float) -> Generator[None]:
    """Keep other writers of *path*, in this process or another, out. Its folder must exist.

    Raises:
        StorageError: If somebody else held the lock for *timeout* seconds.
    """
    lock = FileLock(path.with_name(f"{path.name}.lock"), timeout, PRIVATE_FILE, poll_interval=POLL_SECONDS)
    try:
        lock.acquire()
    except Timeout:
        raise StorageError(f"{lock.lock_file} was held by another writer for {timeout:g} s") from None
    try:
        yield
    finally:
        lock.release()


def create_private(path: Path) -> None:
    """Make an empty file that nobody else can read, where there is none."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE))
    except FileExistsError:
        return


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE_FILE)
