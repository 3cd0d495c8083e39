"""A session of `memgraph step`: executes one command per line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import typer

from memgraph.cli.output import Output, format_json, one_line
from memgraph.cli.prompts import editor_command, open_editor
from memgraph.cli.step_view import StepPrinter, format_stage
from memgraph.errors import EditError, MemgraphError
from memgraph.stepper import Step, Stepper, as_json

HELP = """\
Enter, n       run the next node
c              continue to the end
s [STAGE]      show a stage as JSON; without STAGE, list all stages
e STAGE        edit a stage in $VISUAL or $EDITOR
e STAGE JSON   replace a stage
b              go back: undo the last step or edit
h              show this help
q              quit without saving"""


class StepSession:
    """Executes commands, one per line.

    Args:
        output: Terminal output.
        stepper: The update.
        location: Where the memory is stored, for display.
        is_interactive: Whether a user types the commands. Then an invalid command is reported and the session goes
            on; in a script it ends the session, since later commands rely on it.
    """

    def __init__(self, output: Output, stepper: Stepper, location: str, *, is_interactive: bool) -> None:
        self.is_over = False
        self._is_busy = False
        self._output = output
        self._stepper = stepper
        self._printer = StepPrinter(output, location)
        self._location = location
        self._is_interactive = is_interactive
        self._rejected: dict[str, str] = {}
        self._steps: list[dict[str, Any]] = []

    def begin(self) -> None:
        """Print the next node and how to get help."""
        self._output.line("Nothing is saved before save_memory runs. Type h for help.", "dim")
        self._printer.next(self._stepper)

    def handle(self, line: str) -> None:
        """Execute the command in *line*.

        Raises:
            MemgraphError: If it fails in a script; an interactive session prints the error instead.
        """
        self._is_busy = True  # stays True after Ctrl-C
        try:
            self._execute(line)
        except MemgraphError as error:
            self._is_busy = False
            if not self._is_interactive:
                raise
            self._output.notice(str(error))
        self._is_busy = False

    def _execute(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if command := self._commands.get(word.lower()):
            command(rest.strip())
        else:
            raise EditError(f"unknown command {one_line(word)[:20]!r}; h lists the commands")

    def end(self) -> None:
        """Report whether the memory was saved, if the update has not ended."""
        node, saved = self._stepper.next_node, self._stepper.saved
        if self._is_interactive:
            self._output.line()  # end the line of the prompt
        if node == "save_memory" and self._is_busy:
            self._output.notice(
                "Stopped while save_memory was running: check with `memgraph show` whether it was saved."
            )
        elif node:
            status = f"revision {saved.revision} was saved earlier and is kept" if saved else "nothing was saved"
            self._output.notice(f"Stopped before {node}: {status}.")

    @property
    def document(self) -> dict[str, Any]:
        """The session as a JSON document."""
        saved = self._stepper.saved
        return {
            "outcome": self._stepper.stages.get("outcome"),
            "next": self._stepper.next_node,
            "revision": saved.revision if saved else None,
            "storage": self._location,
            "steps": self._steps,
        }

    # -- the commands --

    @cached_property
    def _commands(self) -> Mapping[str, Callable[[str], None]]:
        table: dict[tuple[str, ...], Callable[[str], None]] = {
            ("", "n", "next"): self._next,
            ("c", "continue"): self._continue,
            ("s", "show"): self._show,
            ("e", "edit"): self._edit,
            ("b", "back"): self._back,
            ("h", "help", "?"): lambda _: self._output.line(HELP),
            ("q", "quit"): self._quit,
        }
        return {word: command for words, command in table.items() for word in words}

    def _next(self, _: str) -> None:
        if self._stepper.next_node is None:
            self.is_over = True
            return
        self._record(self._stepper.next())
        self._printer.next(self._stepper)

    def _continue(self, _: str) -> None:
        for step in self._stepper.run_to_end():
            self._record(step)
        self._printer.next(self._stepper)

    def _back(self, _: str) -> None:
        node = self._stepper.next_node
        self._stepper.back()
        self._output.line(
            "Edit undone." if node == self._stepper.next_node else f"Back before {self._stepper.next_node}."
        )
        saved = self._stepper.saved
        if saved and self._stepper.next_node is not None:
            self._output.notice(
                f"Revision {saved.revision} was saved and is kept: if the update continues from here, it finds that "
                "these turns are already learned."
            )
        self._printer.next(self._stepper)

    def _record(self, step: Step) -> None:
        self._steps.append({"node": step.node, "reads": step.reads, "wrote": as_json(step.wrote)})
        self._printer.step(step)

    def _quit(self, _: str) -> None:
        self.is_over = True

    def _show(self, stage: str) -> None:
        stages = self._stepper.stages
        if not stage:
            for name, value in stages.items():
                self._output.line(f"{name:<10} {format_stage(name, {}, value).summary}")
        elif stage not in stages:
            raise EditError(f"no stage {one_line(stage)[:80]!r} yet; available: {', '.join(stages)}")
        elif not self._output.as_json:
            typer.echo(format_json(as_json(stages[stage])))

    def _edit(self, rest: str) -> None:
        stage, _, text = rest.partition(" ")
        self._stepper.check_editable(stage)
        text = text.strip() or self._open_editor(stage)
        self._rejected[stage] = text
        self._stepper.edit(stage, _parse_json(stage, text))
        del self._rejected[stage]
        self._printer.stage(stage, self._stepper.stages, self._stepper.stages[stage])
        if stage not in self._stepper.reads:
            self._output.notice(f"{self._stepper.next_node} does not read {stage}: go back to a node that does.")
        self._printer.next(self._stepper)

    def _open_editor(self, stage: str) -> str:
        if not self._is_interactive or not editor_command():
            raise EditError(f"e {stage} needs a value: e {stage} JSON; or, at a terminal, set $EDITOR")
        before = json.dumps(as_json(self._stepper.stages[stage]), ensure_ascii=False, indent=2)
        return open_editor(self._rejected.get(stage, before), stage)  # an invalid edit is not lost


def _parse_json(name: str, text: str) -> Any:  # noqa: ANN401
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EditError(f"{name} is not valid JSON: {error}") from error
