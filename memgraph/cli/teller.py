"""What `memgraph step` says on the screen: a step, a stage, and what is next."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from memgraph.cli.changes import show_result
from memgraph.cli.progress import NOTES
from memgraph.cli.reviewing import show_proposal
from memgraph.cli.stages import shown
from memgraph.review import Proposal

if TYPE_CHECKING:
    from memgraph.cli.screen import Screen
    from memgraph.stepper import Step, Stepper

STYLES: Mapping[str, str] = MappingProxyType({"+": "green", "-": "red", "~": "cyan", "x": "dim"})
"""By what a line begins with."""


class Teller:
    """Tells a person what happens.

    Args:
        screen: Where it is told.
        place: Where the memory is stored.
    """

    def __init__(self, screen: Screen, place: str) -> None:
        self._screen = screen
        self._place = place

    def step(self, step: Step) -> None:
        """Say what a node did, stage by stage."""
        if not step.wrote:  # a question was asked, or there was nothing to ask
            return
        note = NOTES[step.node](dict(step.wrote)) if step.node in NOTES else ""
        self._screen.line(f"{step.node}: {note}" if note else step.node, "bold")
        told: list[object] = []
        for stage, value in step.wrote.items():
            is_told = any(value is other for other in told)  # what was saved is the memory too
            self.stage(stage, step.before, value, is_short=is_told)
            told.append(value)

    def stage(self, stage: str, before: Mapping[str, Any], value: object, *, is_short: bool = False) -> None:
        """Say what a stage holds, line by line, or in short."""
        said = shown(stage, before, value)
        self._screen.line(f"{stage:<10} {said.summary}", indent=2)
        for line in () if is_short else said.lines:
            self._screen.line(line, STYLES.get(line[0], ""), indent=4)

    def next(self, stepper: Stepper) -> None:
        """Say where the update stands."""
        if stepper.where is None:
            show_result(self._screen, stepper.stages, self._place)
            self._screen.line("The update has ended: Enter quits, b goes back.", "dim")
        elif stepper.question is not None:
            self._question(Proposal.model_validate(stepper.question))
        else:
            reads = [stage for stage in stepper.reads if stage in stepper.stages]
            self._screen.line(f"Next: {stepper.where}, which reads {', '.join(reads)}", "dim")

    def _question(self, proposal: Proposal) -> None:
        if proposal.problem:
            self._screen.notice(f"That cannot be: {proposal.problem}")
        show_proposal(self._screen, proposal)
        self._screen.line("Decide: a accepts all, r rejects all, i asks about each.", "dim")
