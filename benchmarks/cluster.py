"""A PostgreSQL server for a benchmark, where its programs are installed: the one that the tests use."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from common import HERE, Skipped

SOURCE = HERE.parent / "tests/postgres_server.py"


@contextmanager
def postgres_url() -> Iterator[str]:
    """A database with nothing in it; its user and password are in this process's environment meanwhile.

    Raises:
        Skipped: If PostgreSQL, or what it takes to reach it, is not installed.
    """
    tests = _tests()
    if (programs := tests._programs()) is None:  # noqa: SLF001
        raise Skipped("needs PostgreSQL: as root, on Debian, `sh tests/install_servers.sh`")
    folder = Path(tempfile.mkdtemp(prefix="memgraph-", dir="/tmp"))
    server, before = tests.PostgresServer(programs, folder), dict(os.environ)
    try:
        server.make()
        server.start()
        os.environ.update({"PGUSER": tests.USER, "PGPASSWORD": server.password})
        yield server.url
    finally:
        os.environ.clear()
        os.environ.update(before)
        server.stop()
        shutil.rmtree(folder)


def _tests() -> ModuleType:
    spec = importlib.util.spec_from_file_location("postgres_server", SOURCE)
    if spec is None or spec.loader is None or not SOURCE.exists():
        raise Skipped("needs tests/postgres_server.py of the source checkout")
    module = importlib.util.module_from_spec(spec)
    try:
        import psycopg as _  # noqa: F401 - is it there?

        spec.loader.exec_module(module)
    except ImportError:
        raise Skipped("needs psycopg and pytest: pip install 'langgraph-memgraph[postgres]' pytest") from None
    return module
