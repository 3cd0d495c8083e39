"""A temporary PostgreSQL server for a benchmark, from the fixture of the tests."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from common import HERE, Skipped

SOURCE = HERE.parent / "tests/postgres_server.py"


@contextmanager
def postgres_url(options: Mapping[str, str] | None = None) -> Iterator[str]:
    """Start a server and yield the URL of an empty database; the environment has its user and password meanwhile.

    Args:
        options: Server settings, in addition to those of the tests.

    Raises:
        Skipped: If PostgreSQL or its client library is not installed.
    """
    tests = _tests()
    if (programs := tests._programs()) is None:  # noqa: SLF001
        raise Skipped("needs PostgreSQL: as root, on Debian, `sh tests/install_servers.sh`")
    folder = Path(tempfile.mkdtemp(prefix="memgraph-", dir="/tmp"))
    server, before = tests.PostgresServer(programs, folder, options or {}), dict(os.environ)
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
        import psycopg as _  # noqa: F401 - checks that it is installed

        spec.loader.exec_module(module)
    except ImportError:
        raise Skipped("needs psycopg and pytest: pip install 'langgraph-memgraph[postgres]' pytest") from None
    return module
