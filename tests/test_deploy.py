"""What is in deploy/ fits the project, and two servers on one database share the work."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import secrets
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import httpx
import pytest
import yaml
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from memgraph import Scope, open_storage
from memgraph.prompts.update_prompt import read_turns
from memgraph.settings import Settings
from memgraph.testing import update_answer

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
COMPOSED = sorted(DEPLOY.glob("**/compose.yaml"))
VARIABLE = re.compile(r"\$\{(\w+)(?::[-?][^}]*)?\}")
SERVICE_KEYS = {
    *("image", "build", "deploy", "environment", "env_file", "volumes", "ports", "depends_on", "healthcheck"),
    *("command", "restart", "stop_grace_period", "init", "read_only", "tmpfs", "cap_drop", "security_opt", "configs"),
}
"""Those of the Compose specification that are used; a slip of the pen is none of them."""


def composed(file: Path) -> dict[str, Any]:
    return yaml.safe_load(file.read_text())


def variables(file: Path) -> dict[str, str]:
    """What an example of an environment file sets."""
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def name_of(file: Path) -> str:
    return str(file.relative_to(DEPLOY))


@pytest.fixture(params=COMPOSED, ids=name_of)
def file(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_compose_files_hold_nothing_but_what_compose_knows(file: Path) -> None:
    found = composed(file)

    assert set(found) <= {"name", "services", "volumes", "configs"}
    assert {key for service in found["services"].values() for key in service} <= SERVICE_KEYS


def test_every_part_that_is_named_is_there(file: Path) -> None:
    """A service, a volume or a config that nobody defines would fail the whole composition."""
    found = composed(file)
    services = found["services"].values()

    waited_for = {name for service in services for name in service.get("depends_on", {})}
    mounted = {volume.split(":")[0] for service in services for volume in service.get("volumes", [])}
    configs = {config["source"] for service in services for config in service.get("configs", [])}

    assert waited_for <= set(found["services"])
    assert {name for name in mounted if not name.startswith(".")} == set(found["volumes"])
    assert all((file.parent / name).exists() for name in mounted if name.startswith("."))
    assert configs == set(found.get("configs", {}))


def test_who_is_waited_for_says_how_it_is(file: Path) -> None:
    """`service_healthy` waits for ever for a service without a health check; ours is in its Dockerfile."""
    found = composed(file)["services"]

    waited_for = {name for service in found.values() for name in service.get("depends_on", {})}

    assert all("healthcheck" in found[name] or "build" in found[name] for name in waited_for)
    assert "HEALTHCHECK" in (DEPLOY / "Dockerfile").read_text()


def test_the_proxy_asks_a_service_that_is_there(file: Path) -> None:
    caddyfile = (file.parent / "Caddyfile").read_text()

    asked, port, listening = (
        re.findall(pattern, caddyfile, re.MULTILINE)[0] for pattern in (r"name (\S+)", r"port (\d+)", r"^:(\d+) \{")
    )

    services = composed(file)["services"]
    assert asked in services
    assert services["proxy"]["ports"][0].endswith(f":{listening}")
    assert f"EXPOSE {port}" in (DEPLOY / "Dockerfile").read_text() or "build" not in services[asked]


def test_every_variable_is_in_the_example(file: Path) -> None:
    asked_for = set(VARIABLE.findall(file.read_text()))

    assert asked_for <= set(variables(file.parent / ".env.example"))


def test_secrets_have_no_default(file: Path) -> None:
    """A password that everybody can look up here is none."""
    example = variables(file.parent / ".env.example")

    given = {name: value for name, value in example.items() if re.search("KEY|TOKEN|PASSWORD", name) and value}

    assert given == {}
    assert not re.search(r"(KEY|TOKEN|PASSWORD)[A-Z_]*:-[^}]", file.read_text())


def test_settings_are_called_by_their_names(file: Path) -> None:
    """A MEMGRAPH_ variable that is no setting is passed over without a word."""
    text = file.read_text() + (file.parent / ".env.example").read_text() + (DEPLOY / "Dockerfile").read_text()

    named = set(re.findall(r"\bMEMGRAPH_([A-Z_]+)\b", text)) - {""}

    assert named
    assert {name.lower() for name in named} <= set(Settings.model_fields)


def test_only_the_loopback_is_published(file: Path) -> None:
    ports = [port for service in composed(file)["services"].values() for port in service.get("ports", [])]

    assert ports
    assert all(re.match(r"\$\{ADDRESS:-127\.0\.0\.1:\d+\}:\d+$", port) for port in ports)


def test_the_image_is_made_of_what_is_there_and_runs_as_nobody() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    allowed = (DEPLOY / "Dockerfile.dockerignore").read_text()

    copied = [
        name for line in re.findall(r"^COPY (?!--from)(.*)$", dockerfile, re.MULTILINE) for name in line.split()[:-1]
    ]
    sources = [name for name in copied if not name.startswith("--")]

    assert sources
    assert all((ROOT / name).exists() and f"!{name}\n" in allowed for name in sources)
    assert set(re.findall(r"^ARG EXTRAS=(.*)$", dockerfile, re.MULTILINE)[0].split(",")) <= set(extras)
    assert dockerfile.index("\nUSER memgraph") < dockerfile.index("\nCMD")


def test_secrets_go_into_no_image() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()

    assert "**/.env" in ignored
    assert "*" in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()


# -- two servers ----------------------------------------------------------------------------------

TOKEN = secrets.token_urlsafe(24)
Start = Callable[..., str]


def learn(request: Request) -> Response:
    """Answer as OpenAI does, after a while: one fact for each new turn, with a nonce."""
    time.sleep(0.3)
    prompt = json.loads(request.data)["messages"][-1]["content"]
    facts = [f"{turn.text} #{secrets.token_hex(4)}" for turn in read_turns(prompt) if turn.is_new]
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": update_answer(*facts)},
    }
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return Response(json.dumps(answer), content_type="application/json")


@contextmanager
def serving(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", "from memgraph.cli import main; main()", "serve", "--port", "0", "--json"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def url_of(process: subprocess.Popen[str]) -> str:
    """Where it serves, once it does."""
    assert process.stdout
    told = ""
    while not told.endswith("}\n"):
        line = process.stdout.readline()
        assert line, f"memgraph serve did not start: {told}"
        told += line
    return json.loads(told)["url"]


def environment() -> dict[str, str]:
    """What a server is started with; where the database is reached is in it by now."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMGRAPH_", "COV_"))}
    return kept | {"PYTHONPATH": str(ROOT), "MEMGRAPH_API_TOKEN": TOKEN}


@pytest.fixture
def servers(postgres_url: str, httpserver: HTTPServer) -> Iterator[tuple[str, str]]:
    """Two servers with keys of their own, each learning one conversation at a time."""
    httpserver.expect_request("/v1/chat/completions").respond_with_handler(learn)
    given = environment() | {
        "MEMGRAPH_STORAGE_PATH": postgres_url,
        "MEMGRAPH_OUTBOX": postgres_url,
        "MEMGRAPH_MODEL_NAME": "openai:items",
        "MEMGRAPH_DEBOUNCE_SECONDS": "0",
        "MEMGRAPH_MAX_CONCURRENCY": "1",
        "OPENAI_BASE_URL": httpserver.url_for("/v1"),
    }
    with (
        serving(given | {"OPENAI_API_KEY": "first"}) as first,
        serving(given | {"OPENAI_API_KEY": "second"}) as second,
    ):
        yield url_of(first), url_of(second)


def test_two_servers_on_one_database_share_the_work(
    servers: tuple[str, str], postgres_url: str, httpserver: HTTPServer
) -> None:
    """What one was handed the other learns too, and each turn is learned once, whichever did."""
    users = [f"user-{number}" for number in range(8)]
    headers = {"Authorization": f"Bearer {TOKEN}"}

    with httpx.Client(headers=headers, trust_env=False, timeout=30) as http:
        for user in users:
            body = {"messages": [{"role": "user", "content": f"turn of {user}", "id": "m1"}], "thread_id": "t1"}
            http.post(f"{servers[0]}/conversations", params={"user_id": user}, json=body).raise_for_status()
        wait_until_idle(http, servers[1])

    with open_storage(postgres_url) as storage:
        learned = Counter(fact.content.partition(" #")[0] for user in users for fact in storage.load(Scope(user)).facts)
    assert learned == {f"turn of {user}": 1 for user in users}
    assert {request.headers["Authorization"] for request, _ in httpserver.log} == {"Bearer first", "Bearer second"}


def wait_until_idle(http: httpx.Client, url: str) -> None:
    deadline = time.monotonic() + 60
    while http.get(f"{url}/status").raise_for_status().json()["service"]["pending"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_health_check_knows_a_server_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the container runs is run against a real server; one that does not let it in does not count as healthy."""
    with serving(environment() | {"MEMGRAPH_STORAGE_PATH": "memory:"}) as server:
        url = f"{url_of(server)}/status"

        load_healthy(monkeypatch, TOKEN).check(url)

        with pytest.raises(HTTPError, match="401"):
            load_healthy(monkeypatch, "another").check(url)


def load_healthy(monkeypatch: pytest.MonkeyPatch, token: str) -> Any:
    monkeypatch.setenv("MEMGRAPH_API_TOKEN", token)
    spec = importlib.util.spec_from_file_location("healthy", DEPLOY / "healthy.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
