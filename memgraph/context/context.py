"""Context: what a run may say."""

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
    """What a run may say. Every field is optional: what is not said is as the graph has it.

    Over HTTP the numbers of the policy may also stand beside the other fields, as `{"user_id": "ada",
    "max_facts": 50}`. Of a policy only what it says counts, so that the rest stays as the graph has it.

    Raises:
        ConfigError: If a field is unknown, of the wrong type or out of range.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, json_schema_extra=flatten_schema
    )

    user_id: str | None = Field(
        default=None,
        description="Whose memory. 'default' is the memory without a user. Where the server knows who is calling, "
        "that user counts.",
    )
    agent_name: str | None = Field(default=None, description="With which agent: letters, digits, - and _, at most 64.")
    thread_id: str | None = Field(default=None, description="Which conversation, so that nothing is learned twice.")
    model: Annotated[str | InstanceOf[BaseChatModel] | None, _STRING] = Field(
        default=None,
        description="A chat model, such as 'offline' or 'openai:gpt-4.1-mini'.",
        json_schema_extra={"langgraph_nodes": ["call_model"]},  # where Studio shows it
    )
    prompt: str | None = Field(
        default=None,
        description="Instructions to the model, in place of the packaged ones. They have to ask for a JSON object with "
        "the keys user, history, newFacts and factsToRemove.",
        json_schema_extra={"langgraph_nodes": ["build_prompt"], "langgraph_type": "prompt"},
    )
    structured_output: StructuredOutput | None = Field(
        default=None, description="How the model is held to the answer's shape."
    )
    review: Review | None = Field(
        default=None,
        description="When a person must agree to what is learned. It can ask for more than the graph does, not for "
        "less.",
    )
    storage: Annotated[str | InstanceOf[MemoryStorage] | None, _STRING] = Field(
        default=None,
        description="Where memories are kept, such as 'file:DIR' or 'sqlite:FILE'. Where the server knows who is "
        "calling, nobody can choose it.",
    )
    enabled: bool | None = Field(default=None, description="False: this run does nothing at all.")
    policy: Policy | None = Field(default=None, description="The limits of an update.")
    signals: Annotated[InstanceOf[Signals] | None, WithJsonSchema({"type": "null"})] = Field(
        default=None, description="Patterns that hint at what to look for."
    )

    @field_validator("prompt")
    @classmethod
    def _describes_the_answer(cls, prompt: str | None) -> str | None:
        return validate_instructions(prompt, source="prompt") if prompt else None

    @model_validator(mode="wrap")
    @classmethod
    def _as_filled_in(cls, given: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """What pydantic says of a bad value may quote a secret, and speaks to programmers."""
        try:
            return handler(
                fold_policy_fields(cast("Mapping[str, Any]", given)) if isinstance(given, Mapping) else given
            )
        except ValidationError as error:
            raise to_config_error(error, frozenset({*cls.model_fields, *Policy.model_fields})) from None

    def merge(self, other: Context) -> Context:
        """Return a copy in which every field that *other* sets replaces the one here."""
        return self.model_copy(update={name: value for name, value in other if value is not None})
