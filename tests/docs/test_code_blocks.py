"""Every code block of README.md, of docs/ and of docstrings runs as pasted, in any order and twice, in one folder.

How a page is written:

- A fenced `python`, `console` or `bash` block needs no other block, and no other block changes what it prints: all of
  them run in one folder, as a reader would paste them, with one home, without a network or a key, with warnings as
  errors. So a block that saves something names a place of its own. They run in the reverse order of the pages, so that
  none finds what an earlier block saved, and then again in the order of the pages.
- `<!-- continues -->` above a block: it runs after the block before it, with the same names.
- A line "`agent.yaml`:" above a block: the block is saved as that file, for the blocks that continue.
- The comment after a `print`, or the comment lines directly below it, are what it prints. The lines without `$ ` of a
  `console` block, or a `text` block directly below a block, are all that it prints. `...` is any text. Each run
  is compared: a block whose memory grows uses a new one (`memory:`), or says the same again.
- `<!-- not run: REASON -->` above a block: it is only read. Few blocks are.
- `json` and `yaml` blocks are parsed. `pip install` must name extras that exist, and `make` a target.

The fences are found by sybil. It runs each document once, with the names of all its blocks in one namespace, so
that a block could rest on another without saying so; running is therefore done here.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import io
import itertools
import json
import os
import re
import shlex
import socket
import stat
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from sybil.document import Document, PythonDocStringDocument
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

import memgraph
from memgraph.cli.app import start

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted((ROOT / "memgraph").rglob("*.py"))

SHELLS = ("bash", "console", "sh", "shell")
MOST_NOT_RUN = 0.15
"""Share of the blocks that may be marked as not run."""
LIMIT_SECONDS = 120
"""Generous: on a busy machine a process takes many seconds to start."""

_FENCES = RawFencedCodeBlockLexer(re.compile(r"(?P<language>\w*)(?P<attributes>[^\n]*)\n"))
_TITLE = re.compile(r"(?:\A|\n)`([^`\s]+)`:\s*(?:<!-- [^>]* -->\s*)?\Z")
_MARK = re.compile(r"<!-- (continues|not run: (?P<reason>\S[^>]*)) -->\s*\Z")
_COMMENT = re.compile(r"^\s*# ?")
_ONLY_NAMES = re.compile(r"(?:python -m )?pip install |make ")


@dataclass
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    source: str
    title: str | None
    continues: bool
    not_run: str | None
    output: str | None = None

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def runs(self) -> bool:
        return self.language in ("python", *SHELLS) and self.not_run is None

    @property
    def commands(self) -> list[str]:
        """Return the command lines of a shell block."""
        lines = self.source.replace("\\\n", "").splitlines()
        if self.language == "console":
            return [line[2:] for line in lines if line.startswith("$ ")]
        return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]

    @property
    def shown(self) -> str | None:
        """Return the whole output that the page shows, or None."""
        if self.language != "console":
            return self.output
        lines = self.source.replace("\\\n", "").splitlines()
        return "".join(f"{line}\n" for line in lines if not line.startswith("$ ")) or self.output


def read_blocks(text: str, page: str, first_line: int = 1) -> Iterator[Block]:
    """Yield the blocks of *text*; a text block directly below another is the output of that one."""
    previous, end = None, 0
    for region in sorted(_FENCES(Document(text, page)), key=lambda region: region.start):
        between, end_before = text[end : region.start], end
        end = region.end
        language, source = region.lexemes["language"], str(region.lexemes["source"])
        if language == "text" and previous and end_before and not between.strip():
            previous.output = source
            continue
        mark, title = _MARK.search(between), _TITLE.search(between)
        previous = Block(
            page,
            first_line + text.count("\n", 0, region.start),
            language,
            source,
            title and title[1],
            continues=bool(mark) and mark["reason"] is None,
            not_run=mark and mark["reason"],
        )
        yield previous


def read_docstrings(path: Path) -> Iterator[Block]:
    source = path.read_text(encoding="utf-8")
    if "```" not in source:  # most: parsing them all would take a second
        return
    for start_of_text, _, text in PythonDocStringDocument.extract_docstrings(source):
        yield from read_blocks(text, str(path.relative_to(ROOT)), 1 + source.count("\n", 0, start_of_text))


def read_all() -> Iterator[Block]:
    for path in PAGES:
        yield from read_blocks(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))
    for path in MODULES:
        yield from read_docstrings(path)


BLOCKS = list(read_all())


def join(blocks: list[Block]) -> list[list[Block]]:
    """Return the blocks that run together, each with those that continue it."""
    sessions: list[list[Block]] = []
    for block in blocks:
        if block.continues:
            sessions[-1].append(block)
        elif block.runs or block.title:
            sessions.append([block])
    return [session for session in sessions if any(block.runs for block in session)]


SESSIONS = join(BLOCKS)


# -- running --


class LineOutput(io.StringIO):
    """Standard output that records which line of a block printed what."""

    def __init__(self, filename: str) -> None:
        super().__init__()
        self.by_line: defaultdict[int, str] = defaultdict(str)
        self._filename = filename

    def write(self, text: str) -> int:
        frame = sys._getframe(1)
        while frame.f_back and frame.f_code.co_filename != self._filename:
            frame = frame.f_back
        self.by_line[frame.f_lineno] += text
        return super().write(text)


def read_shown_prints(source: str) -> Iterator[tuple[range, str]]:
    """Yield the lines of each print statement with the comment after it, or the comment lines directly below it."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(
                value=ast.Call(func=ast.Name(id="print")), lineno=first, end_lineno=int(last), end_col_offset=int(end)
            ):
                rest = lines[last - 1].encode()[end:].decode()
                below = itertools.takewhile(lambda line: line.lstrip().startswith("#"), lines[last:])
                shown = [rest] if rest.strip() else list(below)
                if shown:
                    yield range(first, last + 1), "".join(f"{_COMMENT.sub('', line)}\n" for line in shown)


def assert_output(place: str, shown: str, printed: str) -> None:
    assert doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS), (
        f"{place} shows\n{shown}but prints\n{printed}"
    )


def run_python(block: Block, module: ModuleType) -> None:
    """Execute a block in *module*, which holds the names of the blocks before it."""
    page = str(ROOT / block.page)
    output = LineOutput(page)
    code = compile("\n" * block.line + block.source, page, "exec", dont_inherit=True)  # a traceback shows the page
    with redirect_stdout(output):
        exec(code, module.__dict__)  # noqa: S102 - our own text
    for lines, shown in read_shown_prints(block.source):
        assert_output(block.place, shown, "".join(output.by_line[block.line + line] for line in lines))
    if block.shown is not None:
        assert_output(block.place, block.shown, output.getvalue())


def run_shell(block: Block, capfd: pytest.CaptureFixture[str]) -> None:
    """Run `memgraph` in this process, since starting it takes a second, and everything else by the shell."""
    capfd.readouterr()
    commands = [shlex.split(command, comments=True) for command in block.commands]
    if all(_ONLY_NAMES.match(command) for command in block.commands):
        assert_names_exist(block)
        return
    if all(words[0] == "memgraph" and not set(words) & {"|", "<", ">", ">>", "&&"} for words in commands):
        for words in commands:
            assert start(words[1:]) == 0, f"{block.place}: {shlex.join(words)}\n{capfd.readouterr()}"
        sys.stdout.flush()
    else:
        subprocess.run(["sh", "-ec", "\n".join(block.commands)], timeout=LIMIT_SECONDS, check=True)
    if block.shown is not None:
        assert_output(block.place, block.shown, capfd.readouterr().out)


def assert_names_exist(block: Block) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for command in block.commands:
        for named in re.findall(r"\[([\w,-]+)\]", command):
            assert set(named.split(",")) <= set(extras), block.place
        if command.startswith("make "):
            assert command.split()[1] in targets, block.place


def run_session(
    blocks: list[Block], folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    module = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)  # where the annotations of a pasted class are looked up
    for block in blocks:
        if block.title:
            file = folder / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.source, encoding="utf-8")
        if block.runs and block.language == "python":
            run_python(block, module)
        elif block.runs:
            run_shell(block, capfd)


# -- the reader's machine --


@pytest.fixture(autouse=True)
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to an empty folder, with an empty home, no settings and no network; return the folder."""
    folder, home, programs = (tmp_path / name for name in ("folder", "home", "programs"))
    for path in (folder, home, programs):
        path.mkdir()
    memgraph = programs / "memgraph"
    memgraph.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from memgraph.cli import main; main()" "$@"\n')
    memgraph.chmod(memgraph.stat().st_mode | stat.S_IXUSR)
    for name in [name for name in os.environ if name.startswith("MEMGRAPH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / ".local/share"))
    monkeypatch.setenv("PATH", os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(socket.socket, "connect", connect_on_loopback(socket.socket.connect))
    monkeypatch.chdir(folder)
    return folder


def connect_on_loopback(connect: Any) -> Any:
    def refuse_others(connection: socket.socket, address: Any) -> None:
        if connection.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(f"no network: {address}")
        connect(connection, address)

    return refuse_others


# -- tests --


def test_blocks_run_as_pasted_in_one_folder_in_any_order(
    empty_machine: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], subtests: pytest.Subtests
) -> None:
    for order in (reversed(SESSIONS), SESSIONS):
        for session in order:
            with subtests.test(session[0].place):
                run_session(session, empty_machine, monkeypatch, capfd)


def test_few_blocks_are_not_run() -> None:
    """Each has its reason on the page."""
    code = [block for block in BLOCKS if block.language in ("python", *SHELLS)]

    not_run = {block.place: block.not_run for block in code if block.not_run}

    assert len(not_run) <= MOST_NOT_RUN * len(code), not_run


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if block.language in ("json", "yaml")], ids=lambda block: block.place
)
def test_data_is_valid(block: Block) -> None:
    parse = json.loads if block.language == "json" else yaml.safe_load

    assert parse(block.source)


def test_every_block_names_its_language() -> None:
    """Without one it would neither run nor be coloured."""
    assert [block.place for block in BLOCKS if not block.language] == []


def test_docstrings_have_fenced_examples_only() -> None:
    """Others would not run: indented ones that call a public name, and those after `>>>`."""
    public = "|".join(memgraph.__all__)
    example = re.compile(rf"^ *>>> |^ {{4,}}from [\w.]+ import |^ {{4,}}[^`\n]*\b(?:{public})\(", re.MULTILINE)
    assert [
        f"{path.name}: {text}"
        for path in MODULES
        for _, _, text in PythonDocStringDocument.extract_docstrings(path.read_text(encoding="utf-8"))
        if example.search(re.sub(r"```.*?```", "", inspect.cleandoc(text), flags=re.DOTALL))
    ] == []


# -- the runner itself --


def run_page(text: str, machine: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    for session in join(list(read_blocks(text, "page.md"))):
        for _ in range(2):
            run_session(session, machine, monkeypatch, capfd)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("```python\nprint(1 + 1)\n# 3\n```", AssertionError),
        ("```python\nprint(1 + 1)  # 3\n```", AssertionError),
        ("```python\nprint(1)\n```\n\n```text\n2\n```", AssertionError),
        ("```python\nopen('new', 'x').close()\n```", FileExistsError),
        (
            "```python\nimport os\nprint(os.path.exists('new'))  # False\nos.makedirs('new', exist_ok=True)\n```",
            AssertionError,
        ),
        ("```python\nopen('new', 'w').close()\n```\n```python\nopen('new', 'x').close()\n```", FileExistsError),
        ("```python\na = 1\n```\n```python\nprint(a)\n```", NameError),
        ("```python\nimport warnings\nwarnings.warn('old')\n```", UserWarning),
        ("```python\nimport socket\nsocket.create_connection(('192.0.2.1', 80), 1)\n```", OSError),
        ("```console\n$ memgraph show --user nobody\n```", AssertionError),
        ("```console\n$ memgraph config --json | grep nothing_such\n```", subprocess.CalledProcessError),
        ("```bash\npip install 'langgraph-memgraph[none]'\n```", AssertionError),
    ],
    ids=[
        "print",
        "print beside",
        "text",
        "second run",
        "print of the second run",
        "place of another",
        "rests on another",
        "warning",
        "network",
        "command",
        "pipe",
        "extra",
    ],
)
def test_wrong_page_fails(
    text: str,
    error: type[Exception],
    empty_machine: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(error):
        run_page(text, empty_machine, monkeypatch, capfd)


def test_continued_block_finds_names_and_files(
    empty_machine: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text = """
`memgraph.yaml`:

```yaml
memory:
  model_name: offline
```

<!-- continues -->
```python
from pathlib import Path
text = Path("memgraph.yaml").read_text()
```

<!-- continues -->
```python
print(text)
# memory:
#   model_name: ...
```

<!-- continues -->
```console
$ memgraph config --json | grep model_name
...memgraph.yaml: memory.model_name...
```

<!-- not run: it never works -->
```python
1 / 0
```
"""

    run_page(text, empty_machine, monkeypatch, capfd)
