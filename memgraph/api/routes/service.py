"""/status, /config: the service itself."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter, Response

from memgraph._validation import redact
from memgraph.api.dependencies import PrincipalDep, ServicesDep
from memgraph.api.problems import problem_docs
from memgraph.api.responses import json_response
from memgraph.api.schemas import Config, ServiceInfo, Status
from memgraph.api.services import Services
from memgraph.api.version import version
from memgraph.config import default_model

router = APIRouter(tags=["service"])


@router.get("/status", response_model=Status)
def status(desk: ServicesDep, caller: PrincipalDep) -> Response:
    """Tell whether memory is on, and to those who may act for everybody how the service does."""
    return json_response(
        Status(
            version=version(),
            enabled=desk.settings.enabled,
            injection_enabled=desk.settings.injection_enabled,
            user_id=caller.user_id,
            service=_service(desk) if caller.is_admin else None,
        )
    )


@router.get("/config", response_model=Config, responses=problem_docs(HTTPStatus.FORBIDDEN))
def config(desk: ServicesDep, caller: PrincipalDep) -> Response:
    """Show the settings in force, without secrets."""
    caller.require_admin()
    settings = desk.settings.model_dump(mode="json")
    return json_response(
        Config(
            model=default_model(desk.settings),
            storage=desk.storage.name,
            settings={name: redact(value) for name, value in settings.items()},
        )
    )


def _service(desk: Services) -> ServiceInfo:
    invoker = desk.invoker
    return ServiceInfo(
        storage=desk.storage.name,
        pending=len(invoker.pending()),
        failed=len(invoker.failed()),
        in_review=len(invoker.in_review()),
        stats=invoker.stats().to_json(),
    )
