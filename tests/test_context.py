"""Who is remembered, and with what: what a run says, else what the graph was built with."""

from __future__ import annotations

import contextlib
import re
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
    open_storage,
)
from memgraph.context import ContextResolver
from memgraph.testing import ScriptedModel


class Caller(dict[str, Any]):
    """Whom the server knows to be calling."""

    def __init__(self, identity: str, *, is_authenticated: bool = True) -> None:
        super().__init__(identity=identity)
        self.identity = self.display_name = identity
        self.is_authenticated = is_authenticated
        self.permissions: list[str] = []


def resolved(
    context: object = None, *, caller: Caller | None = None, defaults: Context | None = None, **ids: str
) -> Any:
    """What a node would find."""
    server = ServerInfo(assistant_id="a", graph_id="g", user=caller) if caller else None
    runtime: Any = Runtime(context=context, server_info=server)  # type: ignore[type-var]
    return ContextResolver(defaults or Context())(runtime, {"configurable": ids})


def test_nobody_can_claim_to_be_another_than_the_server_knows() -> None:
    """Not in the context, and not in configurable."""
    assert resolved(Context(user_id="eve"), caller=Caller("ada"), user_id="eve").user_id == "ada"


def test_a_caller_who_is_not_authenticated_is_whom_the_context_says() -> None:
    """As on a development server."""
    caller = Caller("anonymous", is_authenticated=False)

    assert resolved(Context(user_id="ada"), caller=caller).user_id == "ada"


@pytest.mark.parametrize(
    "context",
    [
        Context(user_id="ada", agent_name="coder", thread_id="t1"),
        {"user_id": "ada", "agent_name": "coder", "thread_id": "t1"},
        SimpleNamespace(user_id="ada", agent_name="coder", thread_id="t1"),
    ],
)
def test_ids_are_found_in_a_context_of_any_type(context: object) -> None:
    """An attribute or a key."""
    found = resolved(context, user_id="other", thread_id="other")

    assert (found.user_id, found.agent_name, found.thread_id) == ("ada", "coder", "t1")


@pytest.mark.parametrize("context", [None, Context(user_id=""), {"user_id": ""}, SimpleNamespace(user_id="")])
def test_an_empty_id_counts_as_absent(context: object) -> None:
    """Then configurable says who."""
    assert resolved(context, user_id="ada").user_id == "ada"


def test_what_a_run_says_goes_before_what_the_graph_was_built_with() -> None:
    """Field by field."""
    ours, defaults = ScriptedModel("run"), ScriptedModel("graph")
    found = resolved(
        Context(model=ours), defaults=Context(model=defaults, policy=Policy(max_facts=50), storage="memory:")
    )

    assert found.model is ours
    assert found.policy.max_facts == 50


def test_model_storage_and_policy_are_never_taken_from_a_foreign_context() -> None:
    """A field that happens to have the name is not ours."""
    storage = open_storage("memory:")
    foreign = SimpleNamespace(user_id="ada", model="openai:gpt", storage="sqlite:x.db", policy="strict", prompt="x")

    found = resolved(foreign, defaults=Context(storage=storage))

    assert (found.storage, found.policy, found.prompt) == (storage, Policy(), None)


def test_a_string_is_opened_once_and_only_when_it_is_needed() -> None:
    """A pool a run would be one too many; a model that is never asked needs no key."""
    found = resolved(Context(model="openai", storage="memory:"))

    assert found.storage is found.storage
    with pytest.raises(ModelSetupError):
        _ = found.model


def test_another_storage_than_the_one_loaded_from_is_refused() -> None:
    """Both are named."""
    found = resolved(Context(storage=open_storage("memory:")))

    with pytest.raises(WrongStorageError, match="file:/elsewhere"):
        found.require_storage("file:/elsewhere")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"user": "ada"}, "user is unknown; did you mean user_id?"),
        ({"policy": {"max_facts": 5}}, "policy.max_facts must be greater than or equal to 10, not 5"),
        ({"max_facts": "many"}, "policy.max_facts must be a valid integer, unable to parse string as an integer"),
        ({"policy": {"max_fact": 50}}, "policy.max_fact is unknown; did you mean max_facts?"),
        ({"policy": "strict"}, "policy must be a valid dictionary or instance of Policy, not 'strict'"),
        ({"structured_output": "xml"}, "structured_output must be 'none', 'json_schema' or 'function_calling'"),
        ({"u" * 50: 1}, f"'{'u' * 40}' is unknown; there are: agent_name,"),
        ({"model": 5}, "model must be a valid string, not 5"),
        (
            {"user": "ada", "enabled": "perhaps"},
            "enabled must be a valid boolean, unable to interpret input, not 'perhaps'; user is unknown",
        ),
    ],
)
def test_a_bad_context_says_what_is_wrong(fields: dict[str, Any], said: str) -> None:
    """Before any node runs, field by field, in words for whoever filled in a form."""
    with pytest.raises(ConfigError, match=re.escape(said)):
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
def test_whatever_comes_over_http_is_a_context_or_an_error_of_ours(form: dict[str, Any]) -> None:
    """A client may send any JSON."""
    with contextlib.suppress(ConfigError):
        context = Context.model_validate(form)
        assert Context.model_validate(context.model_dump(exclude_unset=True)) == context


def test_no_error_quotes_what_may_be_a_secret() -> None:
    """Errors are logged, and shown to clients."""
    with pytest.raises(ConfigError, match="storage must be") as error:
        Context.model_validate({"storage": 5, "model": {"key": "hunter2"}})

    assert not any(secret in str(error.value) for secret in ("5", "hunter2"))


def test_the_context_has_a_form() -> None:
    """Clients draw it from the JSON schema: flat, every field of one type and described, with choices and ranges."""
    fields = Context.model_json_schema()["properties"]

    assert all(field["description"] for field in fields.values())
    assert {field["type"] for field in fields.values()} == {"string", "boolean", "integer", "number"}
    assert fields["structured_output"]["enum"] == ["none", "json_schema", "function_calling"]
    assert fields["prompt_language"]["enum"] == ["auto", "en", "zh"]
    assert (fields["max_facts"]["minimum"], fields["max_facts"]["maximum"]) == (10, 10_000)


def test_the_form_has_no_defaults() -> None:
    """A client would send them back, and so overrule what the graph was configured with."""
    assert not any("default" in field for field in Context.model_json_schema()["properties"].values())


def test_the_form_names_every_field_that_can_be_said_as_json() -> None:
    """A new one must not be forgotten."""
    said = {*Context.model_fields, *Policy.model_fields} - {"policy", "signals"}

    assert set(Context.model_json_schema()["properties"]) == said


def test_a_form_that_is_filled_in_is_a_context() -> None:
    """What was left empty is not said, and the numbers are the policy's."""
    form = {"user_id": "ada", "agent_name": "", "model": None, "structured_output": "", "max_facts": 50}

    assert Context.model_validate(form) == Context(user_id="ada", policy=Policy(max_facts=50))


def test_a_number_of_the_form_goes_before_that_of_a_policy_beside_it() -> None:
    """Whoever fills in the form sees only the form."""
    context = Context.model_validate({"policy": {"max_facts": 40, "context_turns": 1}, "max_facts": 50})

    assert context.policy == Policy(max_facts=50, context_turns=1)


def test_of_a_policy_only_what_it_says_counts() -> None:
    """Who asks for fewer facts does not ask for another language."""
    found = resolved(
        Context(policy=Policy(max_facts=50)), defaults=Context(policy=Policy(max_facts=90, prompt_language="zh"))
    )

    assert found.policy == Policy(max_facts=50, prompt_language="zh")


def test_a_known_caller_cannot_choose_the_storage() -> None:
    """It could be the storage where somebody else's memory is."""
    with pytest.raises(IdentityError, match="leave it out of the context"):
        resolved(Context(storage="sqlite:of-eve.db"), caller=Caller("ada"))


def test_code_on_the_server_can_choose_it_for_a_known_caller() -> None:
    """An object does not come over HTTP."""
    storage = open_storage("memory:")

    assert resolved(Context(storage=storage), caller=Caller("ada")).storage is storage


@pytest.mark.parametrize("caller", [Caller("ada"), None])
def test_a_scope_of_the_state_is_worked_on_for_whom_it_belongs_to(caller: Caller | None) -> None:
    """Or where the server knows nobody."""
    resolved(Context(user_id="ada"), caller=caller).authorize(Scope("ada", "coach"))


def test_a_scope_of_the_state_is_not_worked_on_for_anybody_else() -> None:
    """A thread may be another user's, and its state can be edited."""
    with pytest.raises(IdentityError, match="another user's memory"):
        resolved(caller=Caller("eve")).authorize(Scope("ada"))
