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
        run.require_storage("file:/elsewhere")


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
        "allowed",
        "model_params",
        "stale_days",
        "categories",
        "sections",
        "profile",
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


@pytest.mark.parametrize("user", [ServerUser("ada"), None])
def test_the_scope_in_the_state_is_accepted_from_its_own_user_or_without_authentication(
    user: ServerUser | None,
) -> None:
    resolve(Context(user_id="ada"), user=user).authorize(Scope("ada", "coach"))


def test_the_scope_in_the_state_is_refused_to_another_authenticated_user() -> None:
    """The thread may be another user's, and its state can be edited."""
    with pytest.raises(IdentityError, match="another user's memory"):
        resolve(user=ServerUser("eve")).authorize(Scope("ada"))


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
