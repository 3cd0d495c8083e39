"""Context: who is remembered, and with which model, storage and policy - and how a node finds them.

In Python pass objects; over HTTP and in YAML pass strings. What a run does not say, the graph it
runs on does. A graph inside another one gets its parent's context, of whatever type: identity is
taken from it, but a model, a storage or a policy only ever from a Context of ours.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, ConfigDict, Field, InstanceOf, field_validator
from pydantic.json_schema import WithJsonSchema

from memgraph.errors import WrongStorageError
from memgraph.llm.chat_models import chat_model
from memgraph.policy import Policy
from memgraph.prompts.schema import StructuredOutput
from memgraph.prompts.template import checked_instructions
from memgraph.storage import MemoryStorage, open_storage
from memgraph.text.signals import Signals, load_signals

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.runtime import Runtime

T = TypeVar("T")

_STRING = WithJsonSchema({"type": "string"})


class Context(BaseModel):
    """What a run may say. Every field is optional: None means the graph's own default."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    user_id: str | None = Field(default=None, description="Whose memory. 'default' is the memory without a user.")
    agent_name: str | None = Field(default=None, description="With which agent: letters, digits, - and _, at most 64.")
    thread_id: str | None = Field(default=None, description="Which conversation, so that nothing is learned twice.")
    model: Annotated[str | InstanceOf[BaseChatModel] | None, _STRING] = Field(
        default=None, description="A chat model, such as 'offline' or 'openai:gpt-4.1-mini'."
    )
    storage: Annotated[str | InstanceOf[MemoryStorage] | None, _STRING] = Field(
        default=None, description="Where memories are kept, such as 'file:DIR' or 'sqlite:FILE'."
    )
    policy: Policy | None = Field(default=None, description="The limits of an update.")
    prompt: str | None = Field(default=None, description="Instructions to the model, in place of the packaged ones.")
    signals: Annotated[InstanceOf[Signals] | None, WithJsonSchema({"type": "null"})] = Field(
        default=None, description="Patterns that hint at what to look for."
    )
    enabled: bool | None = Field(default=None, description="False: this run does nothing at all.")
    structured_output: StructuredOutput | None = Field(
        default=None, description="How the model is held to the answer's shape."
    )

    @field_validator("prompt")
    @classmethod
    def _describes_the_answer(cls, prompt: str | None) -> str | None:
        return checked_instructions(prompt, where="prompt") if prompt else None


class Opened(Generic[T]):
    """Objects by the strings that name them: each is opened once, and the last few are kept.

    A graph owns one for its storages and one for its models, so that a pool or a client
    lives as long as the graph, not as long as a run.
    """

    def __init__(self, opener: Callable[[str], T], *, keep: int = 16) -> None:
        self._opener = opener
        self._keep = keep
        self._objects: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, given: str | T) -> T:
        """Return the object itself, or the one that the string names."""
        if not isinstance(given, str):
            return given
        with self._lock:
            if given not in self._objects:
                self._objects[given] = self._opener(given)
                if len(self._objects) > self._keep:
                    self._objects.popitem(last=False)
            self._objects.move_to_end(given)
            return self._objects[given]


@dataclass(frozen=True)
class Resolved:
    """What a node finds in `runtime.context`: everything is there."""

    user_id: str | None
    agent_name: str | None
    thread_id: str | None
    policy: Policy
    prompt: str | None
    signals: Signals
    enabled: bool
    structured_output: StructuredOutput
    open_model: Callable[[], BaseChatModel]
    open_storage: Callable[[], MemoryStorage]

    @property
    def model(self) -> BaseChatModel:
        """The chat model, opened at first use: in the worker thread of the node that needs it."""
        return self.open_model()

    @property
    def storage(self) -> MemoryStorage:
        """The storage, opened at first use."""
        return self.open_storage()

    def storage_named(self, name: str) -> MemoryStorage:
        """The storage, if it is the one called *name*.

        Raises:
            WrongStorageError: If it is another: the run was resumed without its context.
        """
        storage = self.storage
        if storage.name != name:
            raise WrongStorageError(name, storage.name)
        return storage


class Resolver:
    """Finds the context of a run: what it says, else what the graph was built with."""

    def __init__(self, defaults: Context) -> None:
        self._defaults = defaults
        self._models = Opened(chat_model)
        self._storages = Opened(open_storage)
        self._signals = defaults.signals or load_signals()

    def __call__(self, runtime: Runtime[Any], config: RunnableConfig) -> Resolved:
        """Return the whole context of the run."""
        given = runtime.context
        ours = given if isinstance(given, Context) else Context()
        model = ours.model or self._defaults.model or "offline"
        storage = ours.storage or self._defaults.storage or "file:"
        return Resolved(
            user_id=_authenticated(runtime) or self._named("user_id", given, config),
            agent_name=self._named("agent_name", given, config),
            thread_id=self._named("thread_id", given, config),
            policy=ours.policy or self._defaults.policy or Policy(),
            prompt=ours.prompt or self._defaults.prompt,
            signals=ours.signals or self._signals,
            enabled=_first(ours.enabled, self._defaults.enabled, or_else=True),
            structured_output=ours.structured_output or self._defaults.structured_output or "none",
            open_model=lambda: self._models(model),
            open_storage=lambda: self._storages(storage),
        )

    def _named(self, name: str, given: object, config: RunnableConfig) -> str | None:
        """Find an id in the context, whatever its type, else in configurable; empty counts as absent."""
        found = found_in(given, name) or found_in(config.get("configurable", {}), name) or getattr(self._defaults, name)
        return str(found) if found else None


def _first(*said: bool | None, or_else: bool) -> bool:
    return next((value for value in said if value is not None), or_else)


def found_in(given: object, name: str) -> object:
    """What *given*, of whatever type, has under *name*: as a key or as an attribute."""
    if isinstance(given, Mapping):
        return cast("Mapping[str, object]", given).get(name)
    return getattr(given, name, None)


def _authenticated(runtime: Runtime[Any]) -> str | None:
    """The user whom the server knows to be calling; nobody can claim to be another."""
    user = runtime.server_info.user if runtime.server_info else None
    return user.identity if user is not None and user.is_authenticated else None
