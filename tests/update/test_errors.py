"""Inside another graph, a failing memory does not fail the agent."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langgraph.errors import NodeError
from langgraph.runtime import Runtime
from update_values import origin, turn

from memgraph.context import Context, ContextResolver
from memgraph.errors import ConfigError, IdentityError
from memgraph.models import Scope
from memgraph.retrieval.results import RecallResult
from memgraph.update.errors import ErrorHandlers

HANDLERS = ErrorHandlers(ContextResolver(Context()))
ADA: Any = Runtime(context=Context(user_id="ada"))
EVE: Any = Runtime(context=Context(user_id="eve", agent_name="chef"))
NO_USER: Any = Runtime(context=None)
ERROR = NodeError(node="load_memory", error=OSError("disk full"))
STATE: Any = {"turns": (turn("m1"),), "origin": origin("s")}


@pytest.fixture
def inside(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the graph runs inside another one."""
    monkeypatch.setattr("memgraph.update.errors.is_subgraph", lambda: request.param)
    monkeypatch.setattr("memgraph.update.errors.get_config", dict[str, Any])


@pytest.mark.parametrize("inside", [False], indirect=True)
@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize(
    "handle",
    [lambda: HANDLERS.fail_open(STATE, ERROR, ADA), lambda: HANDLERS.recall_nothing({}, ERROR, ADA)],
)
def test_a_root_graph_raises_the_error(handle: Any, caplog: pytest.LogCaptureFixture) -> None:
    """As it was, and without a log line."""
    with pytest.raises(OSError, match="disk full"):
        handle()

    assert not caplog.records


@pytest.mark.parametrize("inside", [True], indirect=True)
@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize(
    ("state", "runtime", "owner"),
    [
        (STATE, NO_USER, Scope("ada").log_name),
        ({}, ADA, Scope("ada").log_name),
        (STATE, EVE, Scope("eve", "chef").log_name),
        ({}, NO_USER, "an unknown user"),
    ],
)
def test_an_update_inside_a_graph_logs_the_error_and_ends(
    state: Any, runtime: Any, owner: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It names the owner: the user of the run, or else the one in the state, which may be of an earlier run."""
    assert HANDLERS.fail_open(state, ERROR, runtime) == {}

    (record,) = caplog.records
    assert (record.name, record.levelno) == ("memgraph.update.graph", logging.ERROR)
    assert record.getMessage() == f"memory of {owner} was not updated: load_memory failed; the agent goes on"
    assert record.exc_info
    assert record.exc_info[1] is ERROR.error


@pytest.mark.parametrize("inside", [True], indirect=True)
@pytest.mark.usefixtures("inside")
def test_why_a_run_has_no_user_is_a_debug_message(caplog: pytest.LogCaptureFixture) -> None:
    """The error that fails the run is another."""
    caplog.set_level(logging.DEBUG, "memgraph.update.graph")
    invalid: Any = Runtime(context={"user_id": "a\nb"})

    HANDLERS.fail_open({}, ERROR, invalid)

    reason, failure = caplog.records
    assert failure.getMessage().startswith("memory of an unknown user was not updated")
    assert (reason.levelno, reason.getMessage()) == (
        logging.DEBUG,
        "the run names no valid user, or chooses what is not allowed",
    )
    assert reason.exc_info
    assert isinstance(reason.exc_info[1], (ConfigError, IdentityError))


@pytest.mark.parametrize("inside", [True], indirect=True)
@pytest.mark.usefixtures("inside")
def test_recall_inside_a_graph_logs_the_error_and_recalls_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Also nothing of an earlier run on the thread."""
    assert HANDLERS.recall_nothing({}, ERROR, ADA) == {"recalled": RecallResult(text="", tokens=0)}

    (record,) = caplog.records
    name = Scope("ada").log_name
    assert record.getMessage() == f"memory of {name} was not recalled: load_memory failed; the agent goes on"
    assert record.exc_info
    assert record.exc_info[1] is ERROR.error
