"""/status and /config: the state and the settings of the service."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter, Response

from memgraph import __version__
from memgraph._validation import redact_passwords
from memgraph.api.dependencies import PrincipalDep, ServicesDep
from memgraph.api.problems import problem_docs
from memgraph.api.responses import json_response
from memgraph.api.schemas import ConfigResponse, ServiceInfo, StatusResponse
from memgraph.api.services import Services
from memgraph.config import choose_model, describe_finding

router = APIRouter(tags=["service"])


@router.get("/status", response_model=StatusResponse)
def status(services: ServicesDep, principal: PrincipalDep) -> Response:
    """Return whether memory is enabled and, to administrators, the state of the service."""
    return json_response(
        StatusResponse(
            version=__version__,
            enabled=services.settings.enabled,
            injection_enabled=services.settings.injection_enabled,
            categories=list(services.settings.policy.category_names),
            sections=[section.name for section in services.settings.policy.sections],
            user_id=principal.user_id,
            service=_service(services) if principal.is_admin else None,
        )
    )


@router.get("/config", response_model=ConfigResponse, responses=problem_docs(HTTPStatus.FORBIDDEN))
def config(services: ServicesDep, principal: PrincipalDep) -> Response:
    """Return the settings in force, without secrets."""
    principal.require_admin()
    settings = services.settings.model_dump(mode="json")
    return json_response(
        ConfigResponse(
            model=choose_model(services.settings).name,
            storage=services.storage.name,
            settings={name: redact_passwords(value) for name, value in settings.items()},
        )
    )


def _service(services: Services) -> ServiceInfo:
    invoker = services.invoker
    return ServiceInfo(
        storage=services.storage.name,
        finding=describe_finding(services.settings),
        pending=len(invoker.pending()),
        failed=len(invoker.failed()),
        stats=invoker.stats().to_json(),
    )
