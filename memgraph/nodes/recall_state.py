"""The stages of a recall. Each is what one node returns; RecallState is their sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from typing_extensions import TypedDict

from memgraph.context import Resolved
from memgraph.models import Memory
from memgraph.retrieval.recalled import Chosen, Placed, Recalled
from memgraph.retrieval.recaller import Recaller
from memgraph.state import Checked, Conversation


@dataclass(frozen=True)
class Recalling:
    """What a node of recall finds in `runtime.context`."""

    run: Resolved
    """Whose memory, and where it is kept."""
    recaller: Recaller


class MemoryLoaded(TypedDict):
    """The document as it is stored."""

    memory: Annotated[Memory, Checked]


class FactsRanked(TypedDict):
    """Where each fact stands, the best first."""

    ranked: Annotated[list[Placed], Checked]


class FactsChosen(TypedDict):
    """What fits the budget."""

    chosen: Annotated[Chosen, Checked]


class TextRendered(TypedDict):
    """What a prompt is told about the user. The one key that comes out."""

    recalled: Annotated[Recalled, Checked]


class RecallState(Conversation, MemoryLoaded, FactsRanked, FactsChosen, TextRendered):
    """All of it."""
