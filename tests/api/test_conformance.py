"""Responses conform to the OpenAPI document, whatever the request."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
import schemathesis
import schemathesis.specs.graphql.schemas  # imported late, deep in a stack, CPython 3.11 may fail to parse it
import uvicorn
from api_tokens import ADA
from hypothesis import HealthCheck, Phase
from hypothesis import settings as examples
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from memgraph import Settings, open_storage
from memgraph.api import create_app

SETTINGS = Settings(model_name="offline", outbox="memory:", api_tokens={"ada": ADA})  # pyright: ignore[reportArgumentType]
DOCUMENT = create_app(SETTINGS).openapi() | {"info": {"title": "memgraph", "version": "1"}}
CONFIG = SchemathesisConfig.from_dict({"phases": {"coverage": {"enabled": False}}})
EXCLUDED_CHECKS = [positive_data_acceptance, negative_data_rejection]

schema = schemathesis.openapi.from_dict(DOCUMENT, config=CONFIG)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of the app, served on a real socket."""
    app = create_app(SETTINGS, storage=open_storage("memory:"))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@schema.parametrize()
@examples(
    max_examples=7,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    derandomize=True,
)
def test_every_response_is_as_documented(case: schemathesis.Case, server: str) -> None:
    """Valid or invalid, no request gets a status of 500 or more, or an undocumented status, type or schema.

    Which requests are refused is not checked here: a schema cannot express that two facts must differ, and in a query
    a forbidden null looks like an allowed empty text.
    """
    case.call_and_validate(base_url=server, headers={"Authorization": f"Bearer {ADA}"}, excluded_checks=EXCLUDED_CHECKS)
