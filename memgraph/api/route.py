"""Route: an operation over HTTP. Its parameters and their texts are those of the operation."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from http import HTTPStatus
from inspect import Parameter, Signature
from typing import Annotated, Any, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.alias_generators import to_camel

from memgraph.api.auth import Principal, get_principal
from memgraph.api.middleware import MessageRoute
from memgraph.api.preconditions import (
    CONDITIONAL_PROBLEMS,
    ETAG_DOCS,
    NOT_MODIFIED_DOCS,
    State,
    guard_of,
    matches_if_none_match,
    not_modified,
    respond,
)
from memgraph.api.problems import ProblemError, problem_docs
from memgraph.api.services import Services
from memgraph.errors import MemoryOffError
from memgraph.models import Episode, MemoryDocument, Scope
from memgraph.operations import OPERATIONS, Operation, Operations, RequestModel

# -- dependencies ----------------------------------------------------------------------------------


async def _services(request: Request) -> Services:
    return request.app.state.services


async def _principal(request: Request) -> Principal:
    principal = get_principal(request.scope)
    if principal is None:  # no AdmissionMiddleware authenticates
        raise ProblemError(HTTPStatus.UNAUTHORIZED, "Unauthorized", "the request is not authenticated")
    return principal


async def _require_json(request: Request) -> None:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not (media_type.startswith("application/") and media_type.endswith(("/json", "+json"))):
        detail = "send the document as Content-Type: application/json"
        raise ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", detail)


async def _raw_body(request: Request) -> bytes:
    return await request.body()


async def _no_body(request: Request) -> None:
    if (await request.body()).strip() not in (b"", b"{}", b"null"):
        detail = "this route takes no body: its arguments are in the path and the query"
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "InvalidRequest", detail)


ServicesDep = Annotated[Services, Depends(_services)]
PrincipalDep = Annotated[Principal, Depends(_principal)]
RawBody = Annotated[bytes, Depends(_raw_body)]
NoBody = Annotated[None, Depends(_no_body)]
IfMatch = Annotated[
    str | None, Header(description="The ETag of the memory that the change is based on, or * for any state.")
]
IfNoneMatch = Annotated[str | None, Header(description="The ETag of the memory that the client has already.")]
HEADERS = (IfMatch, IfNoneMatch)
"""Both may be absent."""


# -- what a request has in addition to the arguments of an operation --------------------------------


class UserQuery(RequestModel):
    """Which user. Ids are in the query, since proxies change `/`, `.` and `..` in a path."""

    user_id: str | None = Field(
        default=None,
        max_length=256,
        description="Whose memory: 1-256 characters without control characters. Optional with a user's own token.",
    )


class ScopeQuery(UserQuery):
    """Whose memory."""

    agent_name: str | None = Field(
        default=None,
        pattern="^[A-Za-z0-9_-]{0,64}$",
        description="The memory that this agent has of the user; default: the memory that all agents share.",
    )


class PageQuery(ScopeQuery):
    """A page of a list."""

    limit: int = Field(default=50, ge=1, le=500, description="Maximum number of items.")
    offset: int = Field(default=0, ge=0, le=1_000_000, description="Number of items to skip.")


class BodyModel(RequestModel):
    """A manual edit; its keys are those of the stored document."""

    model_config = ConfigDict(alias_generator=to_camel)


# -- routes ----------------------------------------------------------------------------------------


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


def scope_query(scope: Scope | None) -> str:
    """Return the query that every link about *scope* carries."""
    parts = {"user_id": scope.user_id, "agent_name": scope.agent_name} if scope else {}
    return urlencode({name: value for name, value in parts.items() if value})


@dataclass(frozen=True, slots=True)
class Call:
    """A request: who sends it, and its arguments."""

    request: Request
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
    answers: type[BaseModel]
    """The type of the answer, which has the attributes of the result of the operation, or is the type of that."""
    answer: Callable[[Call, Any], object] | str | None = None
    """Makes the answer of the result; or the field of the answer that has it, next to the revision of the memory."""
    _: KW_ONLY
    query: type[BaseModel] = ScopeQuery
    """What the query has in addition to the arguments of the operation."""
    body: Any = None
    """The type of the body; a text is the name of a schema that has the arguments of the operation."""
    take: Callable[[Any], Mapping[str, Any]] = vars
    """Returns the arguments that a body has."""
    omitted: tuple[str, ...] = ()
    """Arguments of the operation that the route does not have, or that `take` returns by another name."""
    if_match: Callable[[Mapping[str, Any]], bool] | bool | None = None
    """Whether the header If-Match is needed, also by the arguments; None if the route does not have it."""
    if_none_match: bool = False
    etag: bool = False
    """Whether the answer has the ETag of the memory."""
    status: HTTPStatus = HTTPStatus.OK
    problems: tuple[int, ...] = ()
    check: Callable[[Call], None] = lambda _: None
    """Refuses what the principal may not do."""
    headers: Callable[[Call, Any], Mapping[str, str]] = lambda _call, _result: {}
    openapi: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def operation(self) -> Operation:
        """The operation."""
        return OPERATIONS[self.called]

    @property
    def _body_fields(self) -> Collection[str]:
        return getattr(self.body, "model_fields", ())

    def run(self, call: Call, if_none_match: str | None) -> Response:
        """Run the operation, and return the response."""
        if self.operation.learns and not call.session.settings.enabled:
            raise MemoryOffError
        self.check(call)
        result = self.operation.function(call.session, **call.arguments)
        state = call.session.state if self.etag else None
        if state is not None and matches_if_none_match(state, if_none_match):
            return not_modified(state)
        headers = self.headers(call, result)
        if isinstance(self.answer, str):
            result = self._put_into(self.answer, call, result)
        elif self.answer:
            result = self.answer(call, result)
        answer = result if isinstance(result, bytes) else self.answers.model_validate(result)
        return respond(answer, state, self.status, headers)

    def _put_into(self, field: str, call: Call, result: Any) -> Mapping[str, object]:  # noqa: ANN401 - of an operation
        """Return the answer whose *field* has the result, or the page of it that the query asks for."""
        if not isinstance(call.query, PageQuery):
            return {"revision": call.session.revision, field: result}
        offset, end = call.query.offset, call.query.offset + call.query.limit
        position = {"total": len(result), "next_offset": end if end < len(result) else None}
        return {"revision": call.session.revision, field: result[offset:end], **position}

    def add_to(self, router: APIRouter, tag: str) -> None:
        """Add the route to *router*, under the heading *tag*."""
        method, path = self.request.split()
        responses = {
            **({int(self.status): ETAG_DOCS} if self.etag else {}),
            **(NOT_MODIFIED_DOCS if self.if_none_match else {}),
            **problem_docs(*self.problems, *([404] if "{" in path else []), *([415] if self.body else [])),
            **(CONDITIONAL_PROBLEMS if self.if_match else {}),
        }
        router.add_api_route(
            path,
            self._endpoint(path),
            name=self.name,
            methods=[method],
            tags=[tag],
            dependencies=[Depends(_require_json)] if self.body else [],
            status_code=self.status,
            response_model=self.answers,
            responses=responses,
            description=self.operation.description,
            openapi_extra=dict(self.openapi) or None,
            route_class_override=MessageRoute if "messages" in self._body_fields else None,
        )

    def _endpoint(self, path: str) -> Callable[..., Response]:
        """Return a function with the parameters of the route, which FastAPI reads."""
        fields = self.operation.fields((*self.omitted, *self._body_fields))
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
            "body": body or NoBody,
            "query": Annotated[query_model, Query()],
            "services": ServicesDep,
            "principal": PrincipalDep,
            "request": Request,
            **({"if_match": IfMatch} if self.if_match is not None else {}),
            **({"if_none_match": IfNoneMatch} if self.if_none_match else {}),
        }

        def endpoint(**given: Any) -> Response:  # noqa: ANN401 - as the signature below declares
            query: Any = given["query"]
            arguments = {
                **{name: given[name] for name in in_path},
                **{name: getattr(query, name) for name in fields},
                **(self.take(given["body"]) if body else {}),
            }
            session = self._session(given, query, arguments)
            call = Call(given["request"], given["principal"], query, arguments, session)
            return self.run(call, given.get("if_none_match"))

        parameters = [
            Parameter(
                name, Parameter.KEYWORD_ONLY, annotation=kind, default=None if kind in HEADERS else Parameter.empty
            )
            for name, kind in types.items()
        ]
        endpoint.__signature__ = Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
        endpoint.__name__ = self.name
        return endpoint

    def _session(self, given: Mapping[str, Any], query: Any, arguments: Mapping[str, Any]) -> HttpSession:  # noqa: ANN401 - a model of a query
        memory, principal = given["services"].memory, given["principal"]
        if self.operation.for_admin:
            principal.require_admin()
            return HttpSession(memory)
        scope = principal.scope(query.user_id, getattr(query, "agent_name", None))
        needed = self.if_match(arguments) if callable(self.if_match) else bool(self.if_match)
        guard = guard_of(given.get("if_match"), needed=needed)
        return HttpSession(memory, user_id=scope.user_id, agent_name=scope.agent_name, guard=guard)


def _without_none(kind: Any) -> Any:  # noqa: ANN401 - a type form
    """Return the type of an argument that a path has, and so is always given."""
    if type(None) not in get_args(kind):
        return kind
    (given,) = (each for each in get_args(kind) if each is not type(None))
    return given
