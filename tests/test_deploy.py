"""The files in deploy/ match the project, and two servers on one database share the work."""

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
from collections.abc import Iterator
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
COMPOSE_FILES = sorted(DEPLOY.glob("**/compose.yaml"))
TEXTS = ("docs/**/*.md", "deploy/**/*.md", "graphs/*", "memgraph/templates/project/README*")
VARIABLE = re.compile(r"\$\{(\w+)(?::[-?][^}]*)?\}")
SERVICE_KEYS = {
    *("image", "build", "deploy", "environment", "env_file", "volumes", "ports", "depends_on", "healthcheck"),
    *("command", "restart", "stop_grace_period", "init", "read_only", "tmpfs", "cap_drop", "security_opt", "configs"),
}
"""The keys of the Compose specification that these files use, so that a misspelt key is found."""


def parse_compose(file: Path) -> dict[str, Any]:
    return yaml.safe_load(file.read_text())


def parse_env(file: Path) -> dict[str, str]:
    """Return the variables that an example of an environment file sets."""
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


@pytest.fixture(params=COMPOSE_FILES, ids=lambda file: str(file.relative_to(DEPLOY)))
def file(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_compose_files_have_only_known_keys(file: Path) -> None:
    compose = parse_compose(file)

    assert set(compose) <= {"name", "services", "volumes", "configs"}
    assert {key for service in compose["services"].values() for key in service} <= SERVICE_KEYS


def test_services_volumes_and_configs_are_defined(file: Path) -> None:
    """An undefined one fails the whole composition."""
    compose = parse_compose(file)
    services = compose["services"].values()

    dependencies = {name for service in services for name in service.get("depends_on", {})}
    mounted = {volume.split(":")[0] for service in services for volume in service.get("volumes", [])}
    configs = {config["source"] for service in services for config in service.get("configs", [])}

    assert dependencies <= set(compose["services"])
    assert {name for name in mounted if not name.startswith(".")} == set(compose["volumes"])
    assert all((file.parent / name).exists() for name in mounted if name.startswith("."))
    assert configs == set(compose.get("configs", {}))


def test_dependencies_have_a_health_check(file: Path) -> None:
    """`service_healthy` waits forever for a service without one; ours is in its Dockerfile."""
    services = parse_compose(file)["services"]

    dependencies = {name for service in services.values() for name in service.get("depends_on", {})}

    assert all("healthcheck" in services[name] or "build" in services[name] for name in dependencies)
    assert "HEALTHCHECK" in (DEPLOY / "Dockerfile").read_text()


def test_proxy_forwards_to_a_defined_service(file: Path) -> None:
    caddyfile = (file.parent / "Caddyfile").read_text()

    upstream, port, listening = (
        re.findall(pattern, caddyfile, re.MULTILINE)[0]
        for pattern in (r"^\s*name (\S+)", r"^\s*port (\d+)", r"^:(\d+) \{")
    )

    services = parse_compose(file)["services"]
    assert upstream in services
    assert services["proxy"]["ports"][0].endswith(f":{listening}")
    assert f"EXPOSE {port}" in (DEPLOY / "Dockerfile").read_text() or "build" not in services[upstream]


def test_variables_are_in_the_example(file: Path) -> None:
    used = set(VARIABLE.findall(file.read_text()))

    assert used <= set(parse_env(file.parent / ".env.example"))


def test_secrets_have_no_default(file: Path) -> None:
    """A default password would be public."""
    example = parse_env(file.parent / ".env.example")

    defaults = {name: value for name, value in example.items() if re.search("KEY|TOKEN|PASSWORD", name) and value}

    assert defaults == {}
    assert not re.search(r"(KEY|TOKEN|PASSWORD)[A-Z_]*:-[^}]", file.read_text())


def test_settings_exist(file: Path) -> None:
    """A MEMGRAPH_ variable that is not a setting is silently ignored."""
    text = file.read_text() + (file.parent / ".env.example").read_text() + (DEPLOY / "Dockerfile").read_text()

    names = set(re.findall(r"\bMEMGRAPH_([A-Z_]+)\b", text)) - {""}

    assert names
    assert {name.lower() for name in names} <= set(Settings.model_fields)


def test_the_rule_of_the_store_is_shown_with_the_authentication() -> None:
    """Without it, `auth` alone would let every user of a server with `langgraph:` read all memories."""
    texts = {path: path.read_text() for part in TEXTS for path in ROOT.glob(part) if path.is_file()}
    shown = {path for path, text in texts.items() if re.search('`auth` |"auth":', text)}

    assert {path.parents[0].name for path in shown} == {"how-to", "deploy", "graphs", "project"}
    assert [path for path in shown if "protect_store" not in texts[path]] == []


def test_ports_are_published_on_loopback_only(file: Path) -> None:
    ports = [port for service in parse_compose(file)["services"].values() for port in service.get("ports", [])]

    assert ports
    assert all(re.match(r"\$\{ADDRESS:-127\.0\.0\.1:\d+\}:\d+$", port) for port in ports)


def test_image_copies_existing_files_and_runs_unprivileged() -> None:
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


def test_images_contain_no_secrets() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()

    assert "**/.env" in ignored
    assert "*" in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()


# -- two servers ----------------------------------------------------------------------------------

TOKEN = secrets.token_urlsafe(24)
TIMEOUT_SECONDS = 120


def answer_as_openai(request: Request) -> Response:
    """Respond after a delay with one fact for each new turn, made unique by a nonce."""
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
def run_server(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
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
        process.communicate(timeout=TIMEOUT_SECONDS)


def read_url(process: subprocess.Popen[str]) -> str:
    """Return the URL that a server prints once it accepts requests."""
    assert process.stdout
    output = ""
    while not output.endswith("}\n"):
        line = process.stdout.readline()
        assert line, f"memgraph serve did not start: {output}"
        output += line
    return json.loads(output)["url"]


def server_environment(**variables: str) -> dict[str, str]:
    """Return the environment of a server; fixtures have put the address of the database into ours."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MEMGRAPH_", "COV_"))}
    return inherited | {"PYTHONPATH": str(ROOT), "MEMGRAPH_API_TOKEN": TOKEN} | variables


@pytest.fixture
def servers(postgres_url: str, httpserver: HTTPServer) -> Iterator[tuple[str, str]]:
    """The URLs of two servers, each with its own API key and a concurrency of one."""
    httpserver.expect_request("/v1/chat/completions").respond_with_handler(answer_as_openai)
    environment = server_environment(
        MEMGRAPH_STORAGE_PATH=postgres_url,
        MEMGRAPH_OUTBOX=postgres_url,
        MEMGRAPH_MODEL_NAME="openai:items",
        MEMGRAPH_DEBOUNCE_SECONDS="0",
        MEMGRAPH_GROUNDING="off",  # the facts are made unique
        MEMGRAPH_MAX_CONCURRENCY="1",
        OPENAI_BASE_URL=httpserver.url_for("/v1"),
    )
    with (
        run_server(environment | {"OPENAI_API_KEY": "first"}) as first,
        run_server(environment | {"OPENAI_API_KEY": "second"}) as second,
    ):
        yield read_url(first), read_url(second)


def test_two_servers_on_one_database_share_the_work(
    servers: tuple[str, str], postgres_url: str, httpserver: HTTPServer
) -> None:
    """Both process what one of them accepted, and each turn is learned exactly once."""
    users = [f"user-{number}" for number in range(8)]
    headers = {"Authorization": f"Bearer {TOKEN}"}

    with httpx.Client(headers=headers, trust_env=False, timeout=TIMEOUT_SECONDS) as http:
        for user in users:
            body = {"messages": [{"role": "user", "content": f"turn of {user}", "id": "m1"}], "thread_id": "t1"}
            http.post(f"{servers[0]}/conversations", params={"user_id": user}, json=body).raise_for_status()
        wait_until_idle(http, servers[1])

    with open_storage(postgres_url) as storage:
        learned = Counter(fact.content.partition(" #")[0] for user in users for fact in storage.load(Scope(user)).facts)
    assert learned == {f"turn of {user}": 1 for user in users}
    assert {request.headers["Authorization"] for request, _ in httpserver.log} == {"Bearer first", "Bearer second"}


def wait_until_idle(http: httpx.Client, url: str) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while http.get(f"{url}/status").raise_for_status().json()["service"]["pending"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_health_check_passes_for_a_working_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The container's own script against a real server; a server that rejects the token is not healthy."""
    with run_server(server_environment(MEMGRAPH_STORAGE_PATH="memory:")) as server:
        url = f"{read_url(server)}/status"

        load_health_check(monkeypatch, TOKEN).check(url)

        with pytest.raises(HTTPError, match="401"):
            load_health_check(monkeypatch, "another").check(url)


def load_health_check(monkeypatch: pytest.MonkeyPatch, token: str) -> Any:
    monkeypatch.setenv("MEMGRAPH_API_TOKEN", token)
    spec = importlib.util.spec_from_file_location("healthcheck", DEPLOY / "healthcheck.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
