"""memgraph step and draw: run an update node by node, edit its stages before anything is saved, and draw its graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from memgraph.cli.command import CommandContext
from memgraph.cli.format import format_scope, pluralize, show_lines, shown_line
from memgraph.cli.input import STDIN, editor_command, open_editor, read_lines
from memgraph.cli.output import Output, format_json
from memgraph.cli.update import learning_settings, read_conversation_file
from memgraph.cli.update_view import describe_node, dump_stage, format_stage, show_result
from memgraph.config import make_context
from memgraph.errors import ConfigError, ConversationError, EditError, MemgraphError
from memgraph.models import Scope

if TYPE_CHECKING:
    from memgraph.stepper import Step, Stepper

PROMPT = "step> "
NEEDS_EXTRA = "ASCII art needs grandalf: pip install 'langgraph-memgraph[draw]', or print Mermaid with --form mermaid"


def step(
    ctx: CommandContext,
    file: str,
    *,
    user: str,
    agent: str | None = None,
    thread: str | None = None,
    model: str | None = None,
) -> object:
    """Run an update node by node.

    Shows each stage of learning from FILE before and after, and lets you edit it; nothing is saved before the last
    node runs. Commands are read from stdin, typed or piped; h lists them.

        memgraph step talk.json --user ada

    Args:
        thread: Name of the conversation; default: FILE's name without suffix.
        file: Conversation, as for `memgraph update`, but not stdin.
    """
    from memgraph.context import Context
    from memgraph.stepper import Stepper
    from memgraph.update.graph import build_graph

    if file == STDIN:
        raise ConversationError("stdin is used for commands: pass the conversation as a file")
    scope = Scope(user, agent)
    messages, thread = read_conversation_file(file, thread)
    settings = learning_settings(ctx, model)
    ctx.output.line(f"Learning about {format_scope(scope)} from {file} ({pluralize(len(messages), 'message')})", "bold")
    graph = build_graph(defaults=make_context(settings, storage=ctx.storage))
    stepper = Stepper(graph, messages, Context(user_id=user, agent_name=scope.agent_name, thread_id=thread))
    session = StepSession(ctx.output, stepper, ctx.storage.location(scope), is_interactive=ctx.is_interactive)
    session.begin()
    try:
        for line in read_lines(PROMPT if ctx.is_interactive else ""):
            session.handle(line)
            if session.is_over:
                break
    finally:  # also after Ctrl-C
        session.end()
    return session.document


def draw(ctx: CommandContext, *, form: Literal["mermaid", "ascii"] = "mermaid") -> object:
    """Print the graph of a memory update.

    memgraph draw
    memgraph draw --form mermaid > update.mmd

    Args:
        form: Mermaid source or ASCII art.
    """
    from memgraph.update.graph import build_graph

    graph = build_graph(review=ctx.settings.review).get_graph()
    try:
        drawing = graph.draw_mermaid() if form == "mermaid" else graph.draw_ascii()
    except ImportError as error:
        raise ConfigError(NEEDS_EXTRA) from error
    ctx.output.verbatim(f"{drawing}\n")
    return {form: drawing}


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
        self._location = location
        self._is_interactive = is_interactive
        self._rejected: dict[str, str] = {}
        self._steps: list[dict[str, Any]] = []

    def begin(self) -> None:
        """Print the next node and how to get help."""
        self._output.line("Nothing is saved before save_memory runs. Type h for help.", "dim")
        self._print_next()

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
        command = next((run for run, names, *_ in COMMANDS if word.lower() in names), None)
        if command is None:
            raise EditError(f"unknown command {shown_line(word)[:20]!r}; h lists the commands")
        command(self, rest.strip())

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

    # -- what is printed --

    def _print_next(self) -> None:
        """Print the next node or the result."""
        stepper = self._stepper
        if stepper.next_node is None:
            show_result(self._output, stepper.stages, self._location)
            self._output.line("The update has ended. Enter: quit, b: go back.", "dim")
        else:
            reads = [stage for stage in stepper.reads if stage in stepper.stages]
            self._output.line(f"Next: {stepper.next_node} (reads {', '.join(reads)})", "dim")

    def _record(self, step: Step) -> None:
        """Note a step, and print what its node wrote, stage by stage."""
        self._steps.append({"node": step.node, "reads": step.reads, "wrote": dump_stage(step.wrote)})
        if not step.wrote:  # there was nothing to review
            return
        note = describe_node(step.node, step.wrote)
        self._output.line(f"{step.node}: {note}" if note else step.node, "bold")
        printed: list[object] = []
        for stage, value in step.wrote.items():
            is_repeated = any(value is other for other in printed)  # save_memory writes one memory to two stages
            self._print_stage(stage, step.before, value, summary_only=is_repeated)
            printed.append(value)

    def _print_stage(self, stage: str, before: Mapping[str, Any], value: object, *, summary_only: bool = False) -> None:
        """Print a stage: its summary, and its lines unless *summary_only*."""
        view = format_stage(stage, before, value)
        self._output.line(f"{stage:<10} {view.summary}", indent=2)
        show_lines(self._output, () if summary_only else view.lines, indent=4)

    # -- the commands --

    def next(self, _: str) -> None:
        if self._stepper.next_node is None:
            self.is_over = True
            return
        self._record(self._stepper.next())
        self._print_next()

    def continue_(self, _: str) -> None:
        for step in self._stepper.run_to_end():
            self._record(step)
        self._print_next()

    def back(self, _: str) -> None:
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
        self._print_next()

    def help(self, _: str) -> None:
        for _run, _names, usage, description in COMMANDS:
            self._output.line(f"{usage:<15}{description}")

    def quit(self, _: str) -> None:
        self.is_over = True

    def show(self, stage: str) -> None:
        stages = self._stepper.stages
        if not stage:
            for name, value in stages.items():
                self._output.line(f"{name:<10} {format_stage(name, {}, value).summary}")
        elif stage not in stages:
            raise EditError(f"no stage {shown_line(stage)[:80]!r} yet; available: {', '.join(stages)}")
        else:
            self._output.verbatim(f"{format_json(dump_stage(stages[stage]))}\n")

    def edit(self, rest: str) -> None:
        stage, _, text = rest.partition(" ")
        self._stepper.check_editable(stage)
        text = text.strip() or self._open_editor(stage)
        self._rejected[stage] = text
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise EditError(f"{stage} is not valid JSON: {error}") from error
        self._stepper.edit(stage, value)
        del self._rejected[stage]
        self._print_stage(stage, self._stepper.stages, self._stepper.stages[stage])
        if stage not in self._stepper.reads:
            self._output.notice(f"{self._stepper.next_node} does not read {stage}: go back to a node that does.")
        self._print_next()

    def _open_editor(self, stage: str) -> str:
        if not self._is_interactive or not editor_command():
            raise EditError(f"e {stage} needs a value: e {stage} JSON; or, at a terminal, set $EDITOR")
        before = json.dumps(dump_stage(self._stepper.stages[stage]), ensure_ascii=False, indent=2)
        return open_editor(self._rejected.get(stage, before), stage)  # an invalid edit is not lost


COMMANDS: Sequence[tuple[Callable[[StepSession, str], None], tuple[str, ...], str, str]] = (
    (StepSession.next, ("", "n", "next"), "Enter, n", "run the next node"),
    (StepSession.continue_, ("c", "continue"), "c", "continue to the end"),
    (StepSession.show, ("s", "show"), "s [STAGE]", "show a stage as JSON; without STAGE, list all stages"),
    (StepSession.edit, ("e", "edit"), "e STAGE", "edit a stage in $VISUAL or $EDITOR"),
    (StepSession.edit, (), "e STAGE JSON", "replace a stage"),
    (StepSession.back, ("b", "back"), "b", "go back: undo the last step or edit"),
    (StepSession.help, ("h", "help", "?"), "h", "show this help"),
    (StepSession.quit, ("q", "quit"), "q", "quit without saving"),
)
"""The commands of a session: function, names, usage and description."""
