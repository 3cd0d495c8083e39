"""Context: the values that a run may set, and the defaults that a graph is built with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self, cast

from langchain_core.language_models import BaseChatModel
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    InstanceOf,
    ModelWrapValidatorHandler,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.json_schema import WithJsonSchema

from memgraph.context.schema import flatten_schema, fold_policy_fields, to_config_error
from memgraph.policy import Policy
from memgraph.prompts.schema import StructuredOutput
from memgraph.prompts.template import validate_instructions
from memgraph.review import Review
from memgraph.storage import MemoryStorage
from memgraph.text.signals import Signals

_STRING = WithJsonSchema({"type": "string"})


class Context(BaseModel):
    """The settings of a run. Every field is optional: a missing one has the value that the graph was built with.

    Over HTTP, fields of the policy may also be given at the top level, as in `{"user_id": "ada", "max_facts": 50}`.
    Only the fields that a policy sets replace those of the graph.

    Raises:
        ConfigError: If a field is unknown, of the wrong type or out of range.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, json_schema_extra=flatten_schema
    )

    user_id: str | None = Field(
        default=None,
        description="Whose memory. 'default' is the memory without a user. If the server has authenticated a user, "
        "that user is taken instead.",
    )
    agent_name: str | None = Field(
        default=None,
        description="The agent, if it has its own memory of the user: letters, digits, - and _, at most 64.",
    )
    thread_id: str | None = Field(
        default=None, description="The conversation, so that no message is learned from twice."
    )
    model: Annotated[str | InstanceOf[BaseChatModel] | None, _STRING] = Field(
        default=None,
        description="A chat model, such as 'offline' or 'openai:gpt-4.1-mini'.",
        json_schema_extra={"langgraph_nodes": ["call_model"]},  # where Studio shows it
    )
    prompt: str | None = Field(
        default=None,
        description="Instructions for the model, instead of the built-in ones. They must ask for a JSON object with "
        "the keys user, history, newFacts and factsToRemove.",
        json_schema_extra={"langgraph_nodes": ["build_prompt"], "langgraph_type": "prompt"},
    )
    structured_output: StructuredOutput | None = Field(
        default=None, description="How the model is made to answer in the expected JSON shape."
    )
    review: Review | None = Field(
        default=None,
        description="When a person must approve what is learned. A run can be stricter than its graph, not less "
        "strict.",
    )
    storage: Annotated[str | InstanceOf[MemoryStorage] | None, _STRING] = Field(
        default=None,
        description="Where memories are stored, such as 'file:DIR' or 'sqlite:FILE'. An authenticated user cannot "
        "set it.",
    )
    enabled: bool | None = Field(default=None, description="False: this run neither learns nor recalls anything.")
    policy: Policy | None = Field(default=None, description="The limits of a memory update.")
    signals: Annotated[InstanceOf[Signals] | None, WithJsonSchema({"type": "null"})] = Field(
        default=None, description="Patterns in user messages that hint at what to learn."
    )

    @field_validator("prompt")
    @classmethod
    def _check_prompt(cls, prompt: str | None) -> str | None:
        return validate_instructions(prompt, source="prompt") if prompt else None

    @model_validator(mode="wrap")
    @classmethod
    def _read_form(cls, value: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Raise a ConfigError instead of pydantic's error, which may quote a secret and addresses programmers."""
        try:
            return handler(
                fold_policy_fields(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else value
            )
        except ValidationError as error:
            raise to_config_error(error, {*cls.model_fields, *Policy.model_fields}) from None

    def merge(self, other: Context) -> Context:
        """Return a copy in which every field that *other* sets replaces the one here."""
        return self.model_copy(update={name: value for name, value in other if value is not None})
