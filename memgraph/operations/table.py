"""The table of operations: what every door offers, with one description and one example of each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, create_model, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from memgraph._validation import hints_of, unknown_key
from memgraph.operations.documents import DocumentOperations
from memgraph.operations.facts import FactOperations
from memgraph.operations.history import HistoryOperations
from memgraph.operations.learning import LearningOperations
from memgraph.operations.proposals import ProposalOperations
from memgraph.operations.recall import RecallOperations

Effect = Literal["reads", "writes", "destroys"]
_SECTIONS = ("\nArgs:", "\nReturns:", "\nRaises:")


class Operations(
    LearningOperations, RecallOperations, FactOperations, HistoryOperations, DocumentOperations, ProposalOperations
):
    """All operations on an open memory, as methods."""


class RequestModel(BaseModel):
    """Arguments from outside. Unknown ones are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, value: object) -> object:
        """Suggest the nearest key, which pydantic's own error does not."""
        if isinstance(value, dict):
            known = [field.alias or name for name, field in cls.model_fields.items()]
            for key in cast("dict[str, object]", value):
                if key not in known:
                    # pydantic formats the message as a template, in which braces are doubled
                    message = str(unknown_key(key[:80], repr(key[:80]), known)).replace("{", "{{").replace("}", "}}")
                    raise PydanticCustomError("unknown_key", cast("Any", message))
        return cast("object", value)


@dataclass(frozen=True)
class Operation:
    """One operation: a method of `Operations`, whose parameters are its arguments."""

    function: Callable[..., Any]
    effect: Effect
    """What it may do to a memory: `destroys` is to end or remove something that is known."""
    example: Mapping[str, object] = field(default_factory=dict[str, object])
    """Arguments of a call."""
    learns: bool = False
    """Whether it has nothing to do if the settings turn memory off."""
    for_new_user: bool = False
    """Whether it makes sense for a user of whom nothing is stored yet; else such a user is perhaps a misspelt one."""
    for_admin: bool = False
    """Whether it is about all users."""

    @property
    def name(self) -> str:
        """The name of the method."""
        return self.function.__name__

    @property
    def description(self) -> str:
        """What it does, for every door."""
        text = inspect.getdoc(self.function) or ""
        return text[: min(text.find(section) % (len(text) + 1) for section in _SECTIONS)].rstrip().replace("*", "`")

    def arguments(self, omitted: Container[str] = ()) -> type[RequestModel]:
        """Return the model of its arguments but *omitted* ones.

        The user is none of them: a door finds out by itself whose memory is meant.
        """
        _, *parameters = inspect.signature(self.function).parameters.values()
        own = {each.name: each for each in parameters if each.name != "user_id" and each.name not in omitted}
        hints = hints_of(self.function, own)
        given: Any = {
            name: (hints[name], ... if each.default is inspect.Parameter.empty else each.default)
            for name, each in own.items()
        }
        return create_model(f"{self.name.title().replace('_', '')}Arguments", __base__=RequestModel, **given)

    def fields(self, omitted: Container[str] = ()) -> dict[str, tuple[Any, FieldInfo]]:
        """Return the type and the meaning of each argument but *omitted* ones."""
        return {name: (info.annotation, info) for name, info in self.arguments(omitted).model_fields.items()}


OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        each.name: each
        for each in (
            Operation(Operations.add, "writes", {"content": "I live in Lisbon."}, learns=True, for_new_user=True),
            Operation(Operations.keep_up, "writes", {"dry_run": True}, learns=True, for_new_user=True),
            Operation(Operations.rebuild, "writes", {"dry_run": True}, learns=True),
            Operation(Operations.count_rebuild_calls, "reads", learns=True),
            Operation(Operations.jobs, "reads", for_new_user=True),
            Operation(Operations.retry, "writes", {"thread_id": "t1"}, for_new_user=True),
            Operation(Operations.search, "reads", {"query": "Lisbon"}),
            Operation(Operations.context, "reads", {"messages": "Where do I live?"}),
            Operation(Operations.recall, "reads", {"messages": "Where do I live?"}, for_new_user=True),
            Operation(Operations.get, "reads", {"as_of": "2026-05"}),
            Operation(Operations.episodes, "reads", {"since": "2026-05"}, for_new_user=True),
            Operation(Operations.facts, "reads", {"category": "preference"}),
            Operation(Operations.fact, "reads", {"fact_id": "fact_a1b2c3d4"}),
            Operation(
                Operations.remember, "writes", {"content": "Prefers tea.", "category": "preference"}, for_new_user=True
            ),
            Operation(Operations.update, "writes", {"fact_id": "fact_a1b2c3d4", "content": "Prefers green tea."}),
            Operation(Operations.delete, "destroys", {"fact_id": "fact_a1b2c3d4"}),
            Operation(
                Operations.write_summary,
                "writes",
                {"name": "top_of_mind", "summary": "Plans a trip."},
                for_new_user=True,
            ),
            Operation(Operations.pending, "reads"),
            Operation(Operations.decide, "writes", {"change_id": "change_1a2b3c4d", "verdict": "accept"}),
            Operation(Operations.accepted_kinds, "reads"),
            Operation(Operations.ask_again, "writes", {"category": "preference"}),
            Operation(Operations.history, "reads", {"limit": 5}),
            Operation(Operations.diff, "reads", {"first": 1, "second": 2}),
            Operation(Operations.undo, "writes", {"revision": 2}),
            Operation(Operations.revert, "writes", {"thread_id": "t1"}),
            Operation(Operations.restore, "writes", {"revision": 1}),
            Operation(Operations.why, "reads", {"fact_id": "fact_a1b2c3d4"}),
            Operation(Operations.export, "reads"),
            Operation(Operations.import_document, "writes", {"document": b'{"facts": []}'}, for_new_user=True),
            Operation(Operations.backups, "reads"),
            Operation(Operations.read_backup, "reads", {"name": "20260503T090000000000Z.json"}),
            Operation(Operations.audit, "reads"),
            Operation(Operations.fix, "writes", {"findings": ()}),
            Operation(Operations.forget, "destroys", for_new_user=True),
            Operation(Operations.erase, "destroys", for_new_user=True),
            Operation(Operations.users, "reads", for_admin=True),
            Operation(Operations.memories, "reads", {"limit": 10}, for_admin=True),
            Operation(
                Operations.propose_fact,
                "writes",
                {"content": "Lives in Lisbon.", "quote": "I live in Lisbon."},
                for_new_user=True,
            ),
            Operation(Operations.propose_update, "destroys", {"fact_id": "fact_a1b2c3d4", "quote": "I drink tea now."}),
            Operation(Operations.propose_removal, "destroys", {"fact_id": "fact_a1b2c3d4", "quote": "Forget it."}),
        )
    }
)
"""By name. Each method of `Operations` is one of them."""
