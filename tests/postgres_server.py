"""A real PostgreSQL for the tests that need one: of this session only, on loopback, in a folder of its own."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

INSTALL = "PostgreSQL is not installed; as root, on Debian: sh tests/install_servers.sh"
USER = "memgraph"
UNTIL_TOLD = 'folder=$1; shift; "$@" & read -r told; kill -INT $!; wait $!; test "$told" || rm -rf "$folder"'
"""A shell that stops the server when it is told to; also when the tests were killed: then nobody holds its input."""

SETTINGS = {"listen_addresses": "127.0.0.1", "shared_buffers": "16MB", "max_connections": "60"}
STARTING_SECONDS = 60


class PostgresServer:
    """A cluster of its own. Root may not run one, so there it is the user that Debian's package made."""

    def __init__(self, programs: Path, folder: Path, options: Mapping[str, str] | None = None) -> None:
        self.password = secrets.token_hex(16)
        self.port = _free_port()
        self.url = f"postgresql://127.0.0.1:{self.port}/postgres"
        self._programs = programs
        self._folder = folder
        self._options = {**SETTINGS, **(options or {})}
        self._shell: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        """Make the cluster."""
        secret = self._folder / "password"
        secret.write_text(self.password)
        if os.getuid() == 0:
            shutil.chown(self._folder, "postgres", "postgres")
            shutil.chown(secret, "postgres", "postgres")
        given = ("--username", USER, "--pwfile", secret, "--auth", "scram-sha-256", "-E", "UTF8", "--locale", "C")
        made = self._run([self._programs / "initdb", "--no-sync", "-D", self._data, *given])
        made.communicate()
        assert made.returncode == 0, self._log()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = [
            part
            for setting in {**self._options, "port": self.port}.items()
            for part in ("-c", "=".join(map(str, setting)))
        ]
        serve = [self._programs / "postgres", "-D", self._data, "-k", self._folder, *settings]
        self._shell = self._run(["sh", "-c", UNTIL_TOLD, "sh", self._folder, *serve])
        _wait_for(self._answers)

    def stop(self) -> None:
        """Stop it, cutting its connections off."""
        if self._shell:
            self._shell.communicate(b"stop\n")
        self._shell = None

    def execute(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a statement, on a connection of its own."""
        import psycopg

        with psycopg.connect(self.url, user=USER, password=self.password, autocommit=True) as db:
            cursor = db.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def _run(self, command: Sequence[str | Path]) -> subprocess.Popen[bytes]:
        owner: dict[str, Any] = {}
        if os.getuid() == 0:
            owner = {"user": "postgres", "group": "postgres", "extra_groups": []}
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(command, cwd="/", stdin=subprocess.PIPE, stdout=log, stderr=log, **owner)

    def _log(self) -> str:
        return (self._folder / "log").read_text()

    def _answers(self) -> bool:
        import psycopg

        assert self._shell
        assert self._shell.poll() is None, self._log()
        try:
            return self.execute("SELECT 1") == [(1,)]
        except psycopg.OperationalError:
            return False


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[PostgresServer]:
    """The server of this session; with pytest-xdist, of this worker."""
    programs = _programs()
    if programs is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(INSTALL)
    folder = Path(tempfile.mkdtemp(prefix="memgraph-", dir="/tmp"))  # sockets need a short path
    server = PostgresServer(programs, folder)
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


@pytest.fixture
def postgres(postgres_cluster: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> PostgresServer:
    """The server, with nothing in it. URLs need no password: it is where libpq looks for it."""
    postgres_cluster.execute("DROP SCHEMA public CASCADE")
    postgres_cluster.execute("CREATE SCHEMA public")
    monkeypatch.setenv("PGUSER", USER)
    monkeypatch.setenv("PGPASSWORD", postgres_cluster.password)
    return postgres_cluster


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    """A database with nothing in it."""
    return postgres.url


def _programs() -> Path | None:
    """Where initdb and postgres are: in the path, or where Debian puts them, the newest version first."""
    found = shutil.which("initdb")
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    folders = [path.resolve().parent for path in ([Path(found)] if found else []) + debian[::-1]]
    return next((folder for folder in folders if (folder / "postgres").exists()), None)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _wait_for(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + STARTING_SECONDS
    while not ready():
        assert time.monotonic() < deadline, "the server does not answer"
        time.sleep(0.02)
