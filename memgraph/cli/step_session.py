"""A session of `memgraph step`: each command is one line, and does one thing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import typer

from memgraph.cli.output import harmless_json, one_line
from memgraph.cli.prompts import edited, editor
from memgraph.cli.review_view import ask_person
from memgraph.cli.step_view import StepPrinter, format_stage
from memgraph.errors import EditError, MemgraphError
from memgraph.review import Proposal
from memgraph.stepper import Step, Stepper, as_json

if TYPE_CHECKING:
    from memgraph.cli.output import Output

HELP = """\
Enter, n       run the next node
c              run on to the end; where a question comes up, stop there
s [STAGE]      show a stage, all of it, as JSON; without one: which there are
e STAGE        edit a stage in $VISUAL or $EDITOR
e STAGE JSON   give a stage another value
b              go back: undo the last step, or edit
a, r           where a question is asked: accept all of it, or reject it
i              decide item by item
JSON           answer as a program would
h              help
q              quit; what is not saved yet never is"""


class StepSession:
    """Obeys commands, one line each.

    Args:
        output: Where everything is shown.
        stepper: The update.
        place: Where the memory is stored, to be told.
        is_typed: Whether a person types: then what is refused is said, and the next line may be better. In a script
            it ends the session, since what follows relies on it.
    """

    def __init__(self, output: Output, stepper: Stepper, place: str, *, is_typed: bool) -> None:
        self.is_over = False
        self._is_busy = False
        self._output = output
        self._stepper = stepper
        self._teller = StepPrinter(output, place)
        self._place = place
        self._is_typed = is_typed
        self._refused: dict[str, str] = {}
        self._steps: list[dict[str, Any]] = []

    def begin(self) -> None:
        """Say where the update stands, and how to go on."""
        self._output.line("Nothing is saved before save_memory runs. h tells the commands.", "dim")
        self._teller.next(self._stepper)

    def handle(self, line: str) -> None:
        """Do what *line* says.

        Raises:
            MemgraphError: If it cannot be done, and nobody is there to read that.
        """
        self._is_busy = True  # and stays so where Ctrl-C comes
        try:
            self._run(line)
        except MemgraphError as error:
            self._is_busy = False
            if not self._is_typed:
                raise
            self._output.notice(str(error))
        self._is_busy = False

    def _run(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if line.startswith(("{", '"')):
            self._answer(line)
        elif command := self._commands.get(word.lower()):
            command(rest.strip())
        else:
            raise EditError(f"there is no command {one_line(word)[:20]!r}; h tells which there are")

    def end(self) -> None:
        """Say what became of the memory, if the update has not ended."""
        node, saved = self._stepper.next_node, self._stepper.saved
        if self._is_typed:
            self._output.line()  # what was typed last ended on no line of its own
        if node == "save_memory" and self._is_busy:
            self._output.notice("Stopped while save_memory ran: `memgraph show` tells whether it was saved.")
        elif node:
            kept = f"it was saved as revision {saved.revision} before, and stays so" if saved else "nothing was saved"
            self._output.notice(f"Stopped before {node}: {kept}.")

    @property
    def document(self) -> dict[str, Any]:
        """The session as JSON."""
        saved = self._stepper.saved
        return {
            "outcome": self._stepper.stages.get("outcome"),
            "next": self._stepper.next_node,
            "question": as_json(self._stepper.question),
            "revision": saved.revision if saved else None,
            "storage": self._place,
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
            ("a", "accept"): lambda _: self._answer('"accept"'),
            ("r", "reject"): lambda _: self._answer('"reject"'),
            ("i", "items"): self._decide,
            ("h", "help", "?"): lambda _: self._output.line(HELP),
            ("q", "quit"): self._quit,
        }
        return {word: command for words, command in table.items() for word in words}

    def _next(self, _: str) -> None:
        if self._stepper.next_node is None:
            self.is_over = True
            return
        self._say(self._stepper.next())
        self._teller.next(self._stepper)

    def _continue(self, _: str) -> None:
        for done in self._stepper.run_to_end():
            self._say(done)
        self._teller.next(self._stepper)

    def _answer(self, text: str) -> None:
        self._say(self._stepper.answer(_parsed("an answer", text)))
        self._teller.next(self._stepper)

    def _decide(self, _: str) -> None:
        if self._stepper.question is None or not self._is_typed:
            raise EditError("there is nothing to decide, or nobody to ask: say a, r or JSON where a question is asked")
        answer = ask_person(self._output, Proposal.model_validate(self._stepper.question))
        if answer is not None:
            self._say(self._stepper.answer(answer))
        self._teller.next(self._stepper)

    def _back(self, _: str) -> None:
        node = self._stepper.next_node
        self._stepper.back()
        self._output.line(
            "Undid the edit." if node == self._stepper.next_node else f"Back before {self._stepper.next_node}."
        )
        saved = self._stepper.saved
        if saved and self._stepper.next_node is not None:
            self._output.notice(
                f"The memory was saved as revision {saved.revision} and stays so: going on from before a save, "
                "the update finds that these turns were learned already."
            )
        self._teller.next(self._stepper)

    def _say(self, step: Step) -> None:
        self._steps.append({"node": step.node, "reads": step.reads, "wrote": as_json(step.wrote)})
        self._teller.step(step)

    def _quit(self, _: str) -> None:
        self.is_over = True

    def _show(self, stage: str) -> None:
        stages = self._stepper.stages
        if not stage:
            for name, value in stages.items():
                self._output.line(f"{name:<10} {format_stage(name, {}, value).summary}")
        elif stage not in stages:
            raise EditError(f"there is no stage {one_line(stage)[:80]!r} yet; there are {', '.join(stages)}")
        elif not self._output.as_json:
            typer.echo(harmless_json(as_json(stages[stage])))

    def _edit(self, rest: str) -> None:
        stage, _, text = rest.partition(" ")
        self._stepper.check_editable(stage)
        text = text.strip() or self._typed(stage)
        self._refused[stage] = text
        self._stepper.edit(stage, _parsed(stage, text))
        del self._refused[stage]
        self._teller.stage(stage, self._stepper.stages, self._stepper.stages[stage])
        if stage not in self._stepper.reads:
            self._output.notice(f"{self._stepper.next_node} does not read {stage}; go back to have it read before.")
        self._teller.next(self._stepper)

    def _typed(self, stage: str) -> str:
        if not self._is_typed or not editor():
            raise EditError(f"say the new value after it, as in: e {stage} JSON; or set $EDITOR and sit at a terminal")
        before = json.dumps(as_json(self._stepper.stages[stage]), ensure_ascii=False, indent=2)
        return edited(self._refused.get(stage, before), stage)  # what was refused before can be put right


def _parsed(what: str, text: str) -> Any:  # noqa: ANN401
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EditError(f"{what} is no JSON: {error}") from error
