"""Context: a run's own values, else the graph's defaults; reading of forms; identity checks."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis.strategies import (
    booleans,
    dictionaries,
    floats,
    integers,
    lists,
    none,
    recursive,
    sampled_from,
    text,
)
from langgraph.runtime import Runtime, ServerInfo
from pydantic import ValidationError

from memgraph import (
    ConfigError,
    Context,
    IdentityError,
    ModelSetupError,
    Policy,
    Scope,
    WrongStorageError,
    build_graph,
    build_recall_graph,
    open_storage,
)
from memgraph.context import AllowedChoices, ContextResolver, SubmittedContext
from memgraph.context.context import STRICTER
from memgraph.state import Origin
from memgraph.testing import ScriptedModel


class ServerUser(dict[str, Any]):
    """The user that the server has authenticated."""

    def __init__(self, identity: str, *, is_authenticated: bool = True) -> None:
        super().__init__(identity=identity)
        self.identity = self.display_name = identity
        self.is_authenticated = is_authenticated
        self.permissions: list[str] = []


def resolve(
    context: object = None, *, user: ServerUser | None = None, defaults: Context | None = None, **ids: str
) -> Any:
    """Return the context as a node would get it."""
    server = ServerInfo(assistant_id="a", graph_id="g", user=user) if user else None
    runtime: Any = Runtime(context=context, server_info=server)  # type: ignore[type-var]
    return ContextResolver(defaults or Context())(runtime, {"configurable": ids})


def test_the_authenticated_user_overrides_every_user_id() -> None:
    """In the context and in configurable."""
    assert resolve(Context(user_id="eve"), user=ServerUser("ada"), user_id="eve").user_id == "ada"


def test_a_user_who_is_not_authenticated_is_ignored() -> None:
    """As on a development server."""
    user = ServerUser("anonymous", is_authenticated=False)

    assert resolve(Context(user_id="ada"), user=user).user_id == "ada"


@pytest.mark.parametrize(
    "context",
    [
        Context(user_id="ada", agent_name="coder", thread_id="t1"),
        {"user_id": "ada", "agent_name": "coder", "thread_id": "t1"},
        SimpleNamespace(user_id="ada", agent_name="coder", thread_id="t1"),
    ],
)
def test_ids_are_read_from_a_context_of_any_type(context: object) -> None:
    """An attribute or a key."""
    run = resolve(context, user_id="other", thread_id="other")

    assert (run.user_id, run.agent_name, run.thread_id) == ("ada", "coder", "t1")


@pytest.mark.parametrize("context", [None, Context(user_id=""), {"user_id": ""}, SimpleNamespace(user_id="")])
def test_an_empty_id_counts_as_absent(context: object) -> None:
    """The id in configurable is used instead."""
    assert resolve(context, user_id="ada").user_id == "ada"


def test_a_run_overrides_the_defaults_of_the_graph() -> None:
    """Field by field."""
    ours, defaults = ScriptedModel("run"), ScriptedModel("graph")
    run = resolve(Context(model=ours), defaults=Context(model=defaults, policy=Policy(max_facts=50), storage="memory:"))

    assert run.open_model() is ours
    assert run.policy.max_facts == 50


def test_model_storage_and_policy_are_not_taken_from_a_foreign_context() -> None:
    """A field of the same name may have another meaning there."""
    storage = open_storage("memory:")
    foreign = SimpleNamespace(user_id="ada", model="openai:gpt", storage="sqlite:x.db", policy="strict", prompt="x")

    run = resolve(foreign, defaults=Context(storage=storage))

    assert (run.open_storage(), run.policy, run.prompt) == (storage, Policy(), None)


def test_a_storage_or_model_named_by_a_string_is_opened_once_and_only_when_used() -> None:
    """One pool per run would be too many; a model that is never called needs no key."""
    run = resolve(Context(model="openai", storage="memory:"))

    assert run.open_storage() is run.open_storage()
    with pytest.raises(ModelSetupError):
        run.open_model()


def test_a_run_cannot_continue_on_another_storage() -> None:
    """The error names both."""
    run = resolve(Context(storage=open_storage("memory:")))

    with pytest.raises(WrongStorageError, match="file:/elsewhere"):
        run.require_storage(Origin(scope=Scope("ada"), thread_id=None, storage="file:/elsewhere"))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"user": "ada"}, "user is unknown; did you mean user_id?"),
        ({"policy": {"max_facts": 5}}, "policy.max_facts must be greater than or equal to 10, not 5"),
        ({"max_facts": "many"}, "policy.max_facts must be a valid integer, unable to parse string as an integer"),
        ({"policy": {"max_fact": 50}}, "policy.max_fact is unknown; did you mean max_facts?"),
        ({"policy": "strict"}, "policy must be a valid dictionary or instance of Policy, not 'strict'"),
        ({"structured_output": "xml"}, "structured_output must be 'auto', 'none', 'json_schema' or 'function_calling'"),
        ({"u" * 50: 1}, f"'{'u' * 40}' is unknown; there are: agent_name,"),
        ({"model": 5}, "model must be a valid string, not 5"),
        (
            {"timezone": "Lisboa"},
            "timezone must be a time zone of the IANA database, such as Europe/Lisbon, not 'Lisboa'",
        ),
        ({"at": "yesterday"}, "at must be a time since 1970: a datetime, ISO 8601, or seconds or milliseconds"),
        (
            {"user": "ada", "enabled": "perhaps"},
            "enabled must be a valid boolean, unable to interpret input, not 'perhaps'; user is unknown",
        ),
    ],
)
def test_an_invalid_context_is_an_error_that_names_every_field(fields: dict[str, Any], message: str) -> None:
    """It is raised before any node runs, and worded for a user who submits a form."""
    with pytest.raises(ConfigError, match=re.escape(message)):
        Context(**fields)


@given(
    dictionaries(
        sampled_from([*Context.model_fields, *Policy.model_fields, "usr_id", "__proto__"]),
        recursive(
            none() | booleans() | integers() | floats() | text(), lambda some: lists(some) | dictionaries(text(), some)
        ),
    )
)
@settings(max_examples=50)
def test_any_json_is_a_context_or_a_config_error(form: dict[str, Any]) -> None:
    """Contexts are sent over HTTP."""
    with contextlib.suppress(ConfigError):
        context = Context.model_validate(form)
        assert Context.model_validate(context.model_dump(exclude_unset=True)) == context


def test_errors_do_not_quote_secrets() -> None:
    """Errors are logged, and returned to clients."""
    with pytest.raises(ConfigError, match="storage must be") as error:
        Context.model_validate({"storage": 5, "model": {"key": "hunter2"}})

    assert not any(secret in str(error.value) for secret in ("5", "hunter2"))


def test_the_json_schema_is_a_flat_form() -> None:
    """Every field has one type and a description, and choices and ranges if it has them."""
    fields = Context.model_json_schema()["properties"]

    assert all(field["description"] for field in fields.values())
    assert {field["type"] for field in fields.values()} == {"string", "boolean", "integer", "number"}
    assert fields["structured_output"]["enum"] == ["auto", "none", "json_schema", "function_calling"]
    assert fields["prompt_language"]["enum"] == ["auto", "en", "zh"]
    assert (fields["max_facts"]["minimum"], fields["max_facts"]["maximum"]) == (10, 50_000)


def test_the_json_schema_has_no_defaults() -> None:
    """A client would send them back, and so override the configuration of the graph."""
    assert not any("default" in field for field in Context.model_json_schema()["properties"].values())


def test_the_json_schema_has_every_field_that_json_can_express() -> None:
    """New fields are included."""
    expected = {*Context.model_fields, *Policy.model_fields} - {
        "policy",
        "signals",
        "slots",
        "embeddings",
        "checks_folder",
        "allowed",
        "model_params",
        "stale_days",
        "categories",
        "sections",
        "profile",
        "review_by",
    }

    assert set(Context.model_json_schema()["properties"]) == expected


def test_a_submitted_form_is_a_context() -> None:
    """Empty fields are ignored, and limits belong to the policy."""
    form = {"user_id": "ada", "agent_name": "", "model": None, "structured_output": "", "max_facts": 50}

    assert Context.model_validate(form) == Context(user_id="ada", policy=Policy(max_facts=50))


def test_names_in_a_form_are_separated_by_commas() -> None:
    """A form has one text field for them."""
    assert Context.model_validate({"user_names": "Ada, Countess Lovelace,"}).user_names == ("Ada", "Countess Lovelace")


@pytest.mark.parametrize("at", ["2023-05-08T13:56:00Z", "2023-05-08T13:56", 1_683_554_160, 1_683_554_160_000])
def test_time_of_a_conversation_is_in_utc(at: object) -> None:
    """Over HTTP it is a text or a number; without a zone it is UTC."""
    assert Context.model_validate({"at": at}).at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def test_names_and_time_zone_of_a_run_override_those_of_the_graph() -> None:
    """The id of the user is one of the names."""
    run = resolve(
        Context(user_id="ada", user_names=("Ada",)), defaults=Context(user_names=("Bea",), timezone="Asia/Shanghai")
    )

    assert (run.user_names, run.timezone) == (("Ada", "ada"), "Asia/Shanghai")


def test_a_limit_at_the_top_level_overrides_the_policy() -> None:
    """The form shows only the top level."""
    context = Context.model_validate({"policy": {"max_facts": 40, "context_turns": 1}, "max_facts": 50})

    assert context.policy == Policy(max_facts=50, context_turns=1)


def test_only_the_fields_that_a_policy_sets_override_the_defaults() -> None:
    """A lower limit of facts does not change the language."""
    run = resolve(
        Context(policy=Policy(max_facts=50)), defaults=Context(policy=Policy(max_facts=90, prompt_language="zh"))
    )

    assert run.policy == Policy(max_facts=50, prompt_language="zh")


def test_an_authenticated_user_cannot_choose_the_storage() -> None:
    """It could be one that contains another user's memory."""
    with pytest.raises(IdentityError, match="leave it out of the context"):
        resolve(Context(storage="sqlite:of-eve.db"), user=ServerUser("ada"))


def test_code_on_the_server_can_choose_the_storage_of_an_authenticated_user() -> None:
    """An object does not come over HTTP."""
    storage = open_storage("memory:")

    assert resolve(Context(storage=storage), user=ServerUser("ada")).open_storage() is storage


CODER = Scope("ada", "coder")


@pytest.mark.parametrize(
    ("context", "user"),
    [
        (Context(user_id="ada", agent_name="Coder"), None),
        (Context(agent_name="coder"), ServerUser("ada")),
        # resumed without a context: the state names the owner, or what the server has not authenticated of it
        (None, None),
        (None, ServerUser("ada")),
    ],
)
def test_the_scope_in_the_state_is_accepted_if_the_run_names_no_other(
    context: Context | None, user: ServerUser | None
) -> None:
    resolve(context, user=user).authorize(CODER)


@pytest.mark.parametrize(
    ("ids", "user"),
    [
        ({}, ServerUser("eve")),
        ({"user_id": "ada", "agent_name": "coder"}, ServerUser("eve")),
        ({"user_id": "eve"}, None),
        ({"user_id": "ada"}, None),
        ({"user_id": "ada", "agent_name": "coach"}, None),
        ({"user_id": "ada", "agent_name": "coach"}, ServerUser("ada")),
    ],
)
@pytest.mark.parametrize("source", ["context", "parent", "configurable"])
def test_the_scope_in_the_state_is_refused_to_a_run_that_names_another(
    ids: Any, user: ServerUser | None, source: str
) -> None:
    """The thread may be another user's, and its state can be edited."""
    context: Any = {"context": Context(**ids), "parent": SimpleNamespace(**ids), "configurable": None}[source]
    run = resolve(context, user=user, **(ids if source == "configurable" else {}))

    with pytest.raises(IdentityError, match="another user's memory"):
        run.require_storage(Origin(scope=CODER, thread_id=None, storage=run.open_storage().name))


# -- what a run over HTTP may choose ----------------------------------------------------------------

PROMPT = 'Only pets matter. Answer {"user": {}, "history": {}, "newFacts": []}.'
ALLOWED = AllowedChoices(models=("openai:small",), prompts={"pets": PROMPT}, storages={"archive": "memory:"})


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (
            {"model": "openai:large"},
            "model 'openai:large' is not allowed in a run over HTTP; allowed are: openai:sm",
        ),
        (
            {"prompt": PROMPT},
            "prompt is not allowed in a run over HTTP; allowed are: pets. The setting allowed_prom",
        ),
        ({"storage": "memory:"}, "storage is not allowed in a run over HTTP; allowed are: archive. The setting"),
        ({"storage": "sqlite:/etc/x.db"}, "storage is not allowed"),
        ({"storage": "os.system"}, "storage is not allowed"),
        ({"storage": "postgresql://ada:hunter2@host/db"}, "storage is not allowed"),
    ],
)
@pytest.mark.parametrize("build", [build_graph, build_recall_graph])
def test_a_run_of_plain_data_chooses_only_what_is_allowed(
    build: Callable[..., Any], chosen: dict[str, str], message: str
) -> None:
    """The server's keys, files and hosts are not for every caller who may start a run."""
    graph = build(storage=open_storage("memory:"), defaults=Context(allowed=ALLOWED))

    with pytest.raises(ConfigError, match=re.escape(message)) as error:
        graph.invoke({"messages": "Hi there."}, context={"user_id": "ada", **chosen})

    assert "hunter2" not in str(error.value)


def test_a_run_on_the_server_is_restricted_in_a_parent_with_the_same_context() -> None:
    """There, LangGraph makes a Context of what came over HTTP."""
    with pytest.raises(ConfigError, match="model 'openai:large' is not allowed"):
        resolve(Context(model="openai:large"), user=ServerUser("ada", is_authenticated=False))


def test_allowed_names_are_replaced_by_what_they_stand_for() -> None:
    """A prompt and a storage are named, so that no text and no password is sent."""
    run = resolve(SubmittedContext(prompt="pets", storage="archive"), defaults=Context(allowed=ALLOWED))

    assert (run.prompt, run.open_storage()) == (PROMPT, run.open_storage())
    assert run.open_storage().name.startswith("memory:")


def test_the_models_of_the_settings_and_of_the_graph_are_allowed() -> None:
    for name, defaults in (
        ("openai:small", Context(allowed=ALLOWED)),
        ("openai:own", Context(model="openai:own")),
        ("offline", Context()),
    ):
        resolve(SubmittedContext(model=name), defaults=defaults)


def test_a_run_cannot_allow_itself_anything() -> None:
    """Only the defaults of the graph count, and plain data cannot express it."""
    with pytest.raises(ConfigError, match="allowed"):
        SubmittedContext.model_validate({"allowed": {"models": ["openai:large"]}})
    with pytest.raises(ConfigError, match="is not allowed"):
        resolve(SubmittedContext(model="openai:large", allowed=AllowedChoices(models=("openai:large",))))


def test_a_run_of_plain_data_cannot_switch_memory_on() -> None:
    """The settings have switched it off."""
    off = Context(enabled=False)

    assert resolve(SubmittedContext(enabled=True), defaults=off).enabled is False
    assert resolve(Context(enabled=True), defaults=off).enabled is True
    assert resolve(SubmittedContext(enabled=False)).enabled is False


def test_a_context_built_in_code_is_free() -> None:
    """Strings too: code may use any key and any file."""
    run = resolve(Context(model="openai:large", storage="memory:", prompt=PROMPT))

    assert (run.prompt, run.open_storage().name.startswith("memory:")) == (PROMPT, True)


def looser(name: str, direction: str | tuple[object, ...]) -> tuple[Policy, Policy]:
    """Return a policy of a server, and one that is less strict in the field *name* or set by servers only."""
    if isinstance(direction, tuple):
        return Policy.model_validate({name: direction[-1]}), Policy.model_validate({name: direction[0]})
    if direction == "server":
        return Policy(), Policy().model_copy(update={name: "another value"})
    low, high = (
        (value for value in (3, 0.5, 600, 200, 20, 5_000, 2_500) if accepts(name, value)),
        (value for value in (7_000, 1_900, 590, 90, 55, 9, 1.0) if accepts(name, value)),
    )
    pair = (Policy.model_validate({name: next(low)}), Policy.model_validate({name: next(high)}))
    return pair if direction == "lower" else (pair[1], pair[0])


def accepts(name: str, value: float) -> bool:
    with contextlib.suppress(ValidationError):
        return getattr(Policy.model_validate({name: value}), name) == value  # pyright: ignore[reportArgumentType]
    return False


def test_every_field_of_the_policy_has_a_stricter_direction() -> None:
    """A new field has to be decided; until then no run over HTTP sets it."""
    assert set(STRICTER) == set(Policy.model_fields)


@pytest.mark.parametrize(("name", "direction"), [each for each in STRICTER.items() if each[1] != "neutral"])
def test_a_run_over_http_makes_no_check_less_strict(name: str, direction: str | tuple[object, ...]) -> None:
    strict, loose = looser(name, direction)
    with pytest.raises(ConfigError, match=f"context: {name} .*(can only be stricter|cannot be set)"):
        resolve(SubmittedContext().model_copy(update={"policy": loose}), defaults=Context(policy=strict))

    code = Context().model_copy(update={"policy": loose})
    assert getattr(resolve(code, defaults=Context(policy=strict)).policy, name) == getattr(loose, name)
    if direction != "server":
        assert resolve(SubmittedContext(policy=strict), defaults=Context(policy=loose)).policy == strict


def test_every_field_of_a_context_over_http_is_decided() -> None:
    """It names identity or time, is looked up by name, can only be stricter, or cannot be expressed as JSON."""
    identity = {"user_id", "agent_name", "thread_id", "at", "user_names", "timezone", "structured_output"}
    looked_up, stricter = {"model", "prompt", "storage"}, {"review", "enabled", "policy"}
    not_json = {"model_params", "signals", "slots", "embeddings", "checks_folder", "allowed"}
    refused = {"review_by"}

    assert identity | looked_up | stricter | not_json | refused == set(Context.model_fields)
    for name in not_json - {"model_params"}:
        with pytest.raises(ConfigError):
            SubmittedContext.model_validate({name: {"x": 1}})


def test_grounding_cannot_be_switched_off_over_http() -> None:
    graph = build_graph(storage=open_storage("memory:"))
    message = re.escape("grounding 'off' is less strict than the server's 'strict', and a run over HTTP can only be")

    with pytest.raises(ConfigError, match=message):
        graph.invoke({"messages": "Hi there."}, context={"user_id": "ada", "grounding": "off"})  # type: ignore[arg-type]
