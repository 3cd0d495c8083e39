"""/status, /config: the service itself."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus

from fastapi import APIRouter, Response

from memgraph.api.answers import told
from memgraph.api.desk import Desk
from memgraph.api.problems import described
from memgraph.api.told import Config, Service, Status
from memgraph.api.version import version
from memgraph.api.wanted import TheCaller, TheDesk
from memgraph.config import default_model
from memgraph.config.problems import without_secrets

router = APIRouter(tags=["service"])


@router.get("/status", response_model=Status)
def status(desk: TheDesk, caller: TheCaller) -> Response:
    """Tell whether memory is on, and to those who may act for everybody how the service does."""
    return told(
        Status(
            version=version(),
            enabled=desk.settings.enabled,
            injection_enabled=desk.settings.injection_enabled,
            user_id=caller.user_id,
            service=_service(desk) if caller.is_anybody else None,
        )
    )


@router.get("/config", response_model=Config, responses=described(HTTPStatus.FORBIDDEN))
def config(desk: TheDesk, caller: TheCaller) -> Response:
    """Show the settings in force, without secrets."""
    caller.must_be_anybody()
    settings = desk.settings.model_dump(mode="json")
    return told(
        Config(
            model=default_model(desk.settings),
            storage=desk.storage.name,
            settings={name: without_secrets(value) for name, value in settings.items()},
        )
    )


def _service(desk: Desk) -> Service:
    invoker = desk.invoker
    return Service(
        storage=desk.storage.name,
        pending=len(invoker.pending()),
        failed=len(invoker.failed()),
        in_review=len(invoker.in_review()),
        stats=asdict(invoker.stats()),
    )
