"""Route: an operation over HTTP. Its parameters and their texts are those of the operation."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from http import HTTPStatus
from typing import Annotated, Any, cast, get_args

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, create_model

from memgraph.api.auth import Principal
from memgraph.api.dependencies import IfMatch, IfNoneMatch, PrincipalDep, ServicesDep
from memgraph.api.middleware import MessageRoute
from memgraph.api.preconditions import State, guard_of, matches_if_none_match
from memgraph.api.problems import problem_docs
from memgraph.api.responses import (
    CONDITIONAL_PROBLEMS,
    NOT_MODIFIED_DOCS,
    document_response,
    etag_header_docs,
    json_response,
    not_modified,
)
from memgraph.api.schemas import BodyModel, ScopeQuery
from memgraph.api.services import Services
from memgraph.errors import MemoryOffError
from memgraph.models import Episode, MemoryDocument
from memgraph.operations import OPERATIONS, Operation, Operations

Headers = Mapping[str, str]
WITH_MESSAGES = ("recall", "learning")
"""The headings of the routes whose bodies have messages."""


class HttpSession(Operations):
    """The operations for one request. It notes the state that the response is about: a memory, or else episodes."""

    state: State | None = None

    def _seen(self, memory: MemoryDocument) -> MemoryDocument:
        self.state = memory
        return memory

    def _episodes(self, user_id: str | None) -> Sequence[Episode]:
        said = super()._episodes(user_id)
        self.state = said if self.state is None else self.state
        return said

    @property
    def revision(self) -> int:
        """The revision of the memory that the response is about."""
        return self.state.revision if isinstance(self.state, MemoryDocument) else 0


@dataclass(frozen=True, slots=True)
class Call:
    """A request: who sends it, and its arguments."""

    request: Request
    services: Services
    principal: Principal
    query: Any
    """The query, as the model of the route."""
    arguments: Mapping[str, Any]
    """Those of the operation."""
    session: HttpSession


@dataclass(frozen=True)
class Route:
    """One route of the API."""

    request: str
    """The method and the path. Arguments of the operation that are in the path are not in the query or the body."""
    called: str
    """The name of the operation."""
    name: str
    """The id of the route in openapi.json begins with it."""
    answers: Any
    """The type of the answer."""
    answer: Callable[[Call, Any], object] = lambda _, result: result
    """Makes the answer of the result of the operation: a model, or the bytes of a document."""
    _: KW_ONLY
    query: type[BaseModel] = ScopeQuery
    """What the query has in addition to the arguments of the operation."""
    body: Any = None
    """The type of the body; a text is the name of a schema that has the arguments of the operation."""
    take: Callable[[Any], Mapping[str, Any]] = vars
    """Returns the arguments that a body has."""
    omitted: tuple[str, ...] = ()
    """Arguments of the operation that the route does not have, or that `take` returns."""
    if_match: Callable[[Mapping[str, Any]], bool] | None = None
    """Whether arguments need the header If-Match; None if the route does not have it."""
    if_none_match: bool = False
    etag: bool = False
    """Whether the answer has the ETag of the memory."""
    status: HTTPStatus = HTTPStatus.OK
    problems: tuple[int, ...] = ()
    check: Callable[[Call], None] = lambda _: None
    """Refuses what the principal may not do."""
    headers: Callable[[Call, Any], Headers] = lambda _call, _result: {}
    openapi: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def operation(self) -> Operation:
        """The operation."""
        return OPERATIONS[self.called]

    def run(self, call: Call, if_none_match: str | None) -> Response:
        """Run the operation, and return the response."""
        if self.operation.learns and not call.services.settings.enabled:
            raise MemoryOffError
        self.check(call)
        result = self.operation.function(call.session, **call.arguments)
        state = call.session.state if self.etag else None
        if state is not None and matches_if_none_match(state, if_none_match):
            return not_modified(state)
        answer, headers = self.answer(call, result), self.headers(call, result)
        if isinstance(answer, bytes | MemoryDocument):
            return document_response(answer, state, **headers)
        return json_response(cast("BaseModel", answer), state, self.status, **headers)

    def add_to(self, router: APIRouter, tag: str) -> None:
        """Add the route to *router*, under the heading *tag*."""
        method, path = self.request.split()
        responses = {
            **(etag_header_docs(self.status) if self.etag else {}),
            **(NOT_MODIFIED_DOCS if self.if_none_match else {}),
            **problem_docs(*map(HTTPStatus, self.problems)),
            **(CONDITIONAL_PROBLEMS if self.if_match not in (None, optional) else {}),
        }
        router.add_api_route(
            path,
            self._endpoint(path),
            name=self.name,
            methods=[method],
            tags=[tag],
            status_code=self.status,
            response_model=self.answers,
            responses=responses,
            description=self.operation.description,
            openapi_extra=dict(self.openapi) or None,
        )

    def _endpoint(self, path: str) -> Callable[..., Response]:
        """Return a function with the parameters of the route, which FastAPI reads."""
        fields = self.operation.fields(self.omitted)
        in_path = {name: fields.pop(name) for name in re.findall(r"\{(\w+)", path)}
        body = self.body
        if isinstance(body, str):
            schema: Any = fields
            body, fields = create_model(body, __base__=BodyModel, __doc__=self.operation.description, **schema), {}
        asked: Any = {name: each for name, each in fields.items() if name not in self.query.model_fields}
        query_model = create_model(f"{self.name}Query", __base__=self.query, **asked)
        types: dict[str, Any] = {
            **{
                name: Annotated[_without_none(kind), *info.metadata, Path(description=info.description)]
                for name, (kind, info) in in_path.items()
            },
            **({"body": body} if body else {}),
            "query": Annotated[query_model, Query()],
            "services": ServicesDep,
            "principal": PrincipalDep,
            "request": Request,
            **({"if_match": IfMatch} if self.if_match else {}),
            **({"if_none_match": IfNoneMatch} if self.if_none_match else {}),
        }

        def endpoint(**given: Any) -> Response:  # noqa: ANN401 - as the signature below declares
            query: Any = given["query"]
            arguments = {
                **{name: given[name] for name in in_path},
                **{name: getattr(query, name) for name in fields},
                **(self.take(given["body"]) if body else {}),
            }
            call = Call(
                given["request"],
                given["services"],
                given["principal"],
                query,
                arguments,
                self._session(given, query, arguments),
            )
            return self.run(call, given.get("if_none_match"))

        parameters = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=kind,
                default=None if name in ("if_match", "if_none_match") else inspect.Parameter.empty,
            )
            for name, kind in types.items()
        ]
        endpoint.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
        endpoint.__name__ = self.name
        return endpoint

    def _session(self, given: Mapping[str, Any], query: Any, arguments: Mapping[str, Any]) -> HttpSession:  # noqa: ANN401 - a model of a query
        memory, principal = given["services"].memory, given["principal"]
        if self.operation.for_admin:
            principal.require_admin()
            return HttpSession(memory)
        scope = principal.scope(query.user_id, getattr(query, "agent_name", None))
        guard = guard_of(given.get("if_match"), needed=self.if_match is not None and self.if_match(arguments))
        return HttpSession(memory, user_id=scope.user_id, agent_name=scope.agent_name, guard=guard)


def needed(_: Mapping[str, Any]) -> bool:
    """Whether a change that overwrites data needs the header If-Match."""
    return True


def optional(_: Mapping[str, Any]) -> bool:
    """Whether a change that overwrites nothing needs the header If-Match."""
    return False


def _without_none(kind: Any) -> Any:  # noqa: ANN401 - a type form
    """Return the type of an argument that a path has, and so is always given."""
    if type(None) not in get_args(kind):
        return kind
    (given,) = (each for each in get_args(kind) if each is not type(None))
    return given


def routers_of(routes: Mapping[str, Sequence[Route]]) -> Iterator[APIRouter]:
    """Yield a router for each heading. One whose bodies have messages checks them before they are parsed."""
    for tag, group in routes.items():
        router = APIRouter(route_class=MessageRoute) if tag in WITH_MESSAGES else APIRouter()
        for route in group:
            route.add_to(router, tag)
        yield router
