"""MemoryFiles: a memory as a folder of files: what is known, what was said, and the files that an agent writes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from langgraph.store.base import PutOp, SearchItem

from memgraph.agents.tool_changes import WAITS
from memgraph.analysis.dates import shown_date
from memgraph.analysis.normalize import clean_visible, fact_key, single_line
from memgraph.errors import ChangePendingError, EditError, IdentityError, NoSuchFileError
from memgraph.integrations.store_entries import Namespace, authenticated_user
from memgraph.models import Episode, MemoryDocument, Scope, new_fact_id
from memgraph.retrieval.render import profile_lines, recalled_summary, recalled_words
from memgraph.retrieval.summary_facts import with_current_summaries
from memgraph.sections import section_title

if TYPE_CHECKING:
    from memgraph.opened import OpenMemory

PROFILE = "profile.md"
FACTS, DAYS = "facts", "days"
"""The folders of what is known, a file for each category, and of what was said, a file for each day."""
MAX_FILE_CHARS = 100_000
MAX_PATH_CHARS = 256
MAX_FILES = 1_000
"""Files that an agent may have."""
_LINE = re.compile(r"[-*] +(?P<content>\S.*)")
_NEEDS_LINES = "a fact is a line such as '- Prefers tea.'"
_MOST = 1_000_000  # items of a search: all of a memory


class MemoryFile(NamedTuple):
    """A file, as it is read."""

    path: str
    text: str
    modified_at: str = ""
    """ISO 8601; empty if unknown."""


class MemoryFiles:
    """The memory of one user as files. Reading renders them; writing is a tool's write, as by `Memory.store()`.

    - `profile.md`, read-only: the profile and the summaries.
    - `days/2026-05-03.md`, read-only: what the user said that day.
    - `facts/preference.md`: the facts of a category, a line each: `- Prefers tea. [fact_1a2b3c4d]`. A line without an
      id adds a fact, a changed line changes its fact, and a line that is gone ends it.
    - Every other path: a file that an agent wrote, kept in the memory as it is and never recalled.

    Args:
        memory: The open memory, which is not closed here.
        user_id: Whose memory it is.
        agent_name: The agent, if it has its own memory of the user.

    Raises:
        IdentityError: If an id is invalid. On LangGraph Server, every method raises it if another user is signed in.
    """

    def __init__(self, memory: OpenMemory, user_id: str, agent_name: str | None = None) -> None:
        self._memory = memory
        self._facts: Namespace = ("memories",)
        self._own: Namespace = ("memories", "files")
        self._store = memory.store(self._facts, user_id=user_id, agent_name=agent_name)
        self._scope = Scope(user_id, agent_name)

    def all(self) -> dict[str, MemoryFile]:
        """Return the files by their paths, in the order of these.

        Raises:
            StorageError: If the memory cannot be read.
        """
        memory, storage, zone = self._load(), self._memory.storage, self._memory.settings.timezone
        items = self._items()
        rendered = (*_profile(memory), *self._fact_files(memory, items), *_days(storage.episodes(self._scope), zone))
        own = [
            MemoryFile(item.key, str(item.value["content"]), item.updated_at.isoformat())
            for item in items
            if item.namespace == self._own and "content" in item.value
        ]
        return {file.path: file for file in sorted((*rendered, *own))}

    def read(self, path: str) -> MemoryFile:
        """Return a file.

        Raises:
            EditError: If *path* is invalid.
            NoSuchFileError: If there is none.
        """
        path = normalize_path(path)
        found = self.all().get(path)
        if found is None:
            raise NoSuchFileError(f"there is no file {path!r}")
        return found

    def write(self, path: str, text: str) -> None:
        """Write a file: a new one, or another text.

        Raises:
            ChangePendingError: If a part waits until a person accepts it; the rest is written.
            EditError: If *path* is invalid or read-only, or the text is too long or not admitted.
        """
        path = normalize_path(path)
        if len(text) > MAX_FILE_CHARS:
            raise EditError(f"{path}: a file has at most {MAX_FILE_CHARS:,} characters, not {len(text):,}")
        if category := self._category_of(path):
            self._write_facts(path, category, text)
            return
        known = [file for file in self.all() if not is_rendered(file)]
        if path not in known and len(known) >= MAX_FILES:
            raise EditError(f"{path}: a memory has at most {MAX_FILES:,} files; delete one first")
        _check_free(path, known)
        self._store.put(self._own, path, {"content": text})

    def delete(self, path: str) -> None:
        """Delete a file, or a folder with all files below.

        Raises:
            ChangePendingError: If a part waits until a person accepts it; the rest is deleted.
            EditError: If *path* is invalid or read-only.
            NoSuchFileError: If there is nothing.
        """
        waiting: list[str] = []
        for file in _below(normalize_path(path), self.all()):
            if category := self._category_of(file):
                try:
                    self._write_facts(file, category, "")
                except ChangePendingError as error:
                    waiting.append(str(error))
            else:
                self._store.delete(self._own, file)
        if waiting:
            raise ChangePendingError(" ".join(waiting))

    def rename(self, path: str, new: str) -> None:
        """Give a file, or a folder, another path.

        Raises:
            EditError: If a path is invalid or rendered, or *new* is taken.
            NoSuchFileError: If there is nothing to rename.
        """
        path, new, known = normalize_path(path), normalize_path(new), self.all()
        moved = {file: new + file.removeprefix(path) for file in _below(path, known)}
        if rendered := next(filter(is_rendered, (*moved, *moved.values())), None):
            raise EditError(f"{rendered!r} is rendered from the memory: it keeps its path")
        if new.startswith(f"{path}/"):
            raise EditError(f"{path!r} cannot be moved into itself")
        if taken := next((file for file in known if file == new or file.startswith(f"{new}/")), None):
            raise EditError(f"{taken!r} is there already")
        others = [file for file in known if file not in moved]
        for target in moved.values():
            _check_free(normalize_path(target), others)
        puts = [PutOp(self._own, target, {"content": known[file].text}) for file, target in moved.items()]
        self._store.batch([*puts, *(PutOp(self._own, file, None) for file in moved)])

    def _load(self) -> MemoryDocument:
        signed_in = authenticated_user()
        if signed_in is not None and signed_in != self._scope.user_id:
            raise IdentityError(f"these are the files of {self._scope.user_id!r}, and {signed_in!r} is signed in")
        return self._memory.storage.load(self._scope)

    def _items(self) -> list[SearchItem]:
        """Return the facts and the files of an agent, the oldest first."""
        return self._store.search(self._facts, limit=_MOST)[::-1]

    # -- facts ------------------------------------------------------------------------------------

    def _category_of(self, path: str) -> str:
        """Return the category whose facts *path* has; empty for a file of an agent."""
        if not is_rendered(path):
            return ""
        names = self._memory.settings.policy.category_names
        category = path.removeprefix(f"{FACTS}/").removesuffix(".md")
        if path != f"{FACTS}/{category}.md" or category not in names:
            files = ", ".join(f"{FACTS}/{name}.md" for name in names)
            raise EditError(f"{path} is read-only, as all but these files that the memory renders: {files}")
        return category

    def _fact_files(self, memory: MemoryDocument, items: Sequence[SearchItem]) -> Iterator[MemoryFile]:
        for category in self._memory.settings.policy.category_names:
            facts = {key: content for key, content in self._facts_of(category, memory, items).items() if content}
            changed = max((item.updated_at.isoformat() for item in items if item.key in facts), default="")
            lines = "".join(f"- {single_line(content)} [{key}]\n" for key, content in facts.items())
            if lines:
                yield MemoryFile(f"{FACTS}/{category}.md", lines, changed)

    def _facts_of(self, category: str, memory: MemoryDocument, items: Sequence[SearchItem]) -> dict[str, str]:
        """Return the facts of a category by their ids, without what is kept as it was said."""
        return {
            item.key: str(item.value["content"])
            for item in items
            if item.namespace == self._facts
            and (fact := memory.fact(item.key))
            and self._memory.settings.policy.category_of(fact) == category
        }

    def _write_facts(self, path: str, category: str, text: str) -> None:
        memory = self._load()
        known = self._facts_of(category, memory, self._items())
        given = _read_lines(path, text, memory)
        if not (given or known):
            raise EditError(f"{path}: {_NEEDS_LINES}; without one there is no file")
        if unknown := next((key for key in given if key not in known and memory.fact(key)), None):
            raise EditError(f"{path}: {given[unknown]!r} is a fact of another category")
        ended = [key for key in known if key not in given]
        changed = {key: content for key, content in given.items() if single_line(known.get(key, "")) != content}
        puts = [PutOp(self._facts, key, {"content": each, "category": category}) for key, each in changed.items()]
        self._store.batch([*puts, *(PutOp(self._facts, key, None) for key in ended)])
        if waiting := [key for key in ended if self._store.get(self._facts, key)]:
            rest = "The other lines are written. " if changed or len(waiting) < len(ended) else ""
            raise ChangePendingError(f"{path}: {rest}The end of {', '.join(waiting)}: {WAITS}")


def _check_free(path: str, known: Iterable[str]) -> None:
    """Refuse the path of a file that would be a folder of *known*, or lie in a file of them."""
    blocked = next((file for file in known if file.startswith(f"{path}/") or path.startswith(f"{file}/")), None)
    if blocked:
        raise EditError(f"{path}: {blocked!r} is a file already, and no folder has the name of a file")


def _below(path: str, files: Iterable[str]) -> list[str]:
    """Return those of *files* that are *path*, or in the folder *path*."""
    found = [file for file in files if file == path or file.startswith(f"{path}/")]
    if not found:
        raise NoSuchFileError(f"there is no file {path!r}")
    return found


def _read_lines(path: str, text: str, memory: MemoryDocument) -> Mapping[str, str]:
    """Return the facts of a file by their ids; a new one gets an id. Headings, empty and repeated lines are left out.

    Brackets that name no fact of *memory* are part of the text. A line without an id that states a fact of *memory*
    names that fact.
    """
    facts, new = dict[str, str](), list[str]()
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            raise EditError(f"{path}, line {number}: {_NEEDS_LINES}")
        content, _, named = found["content"].rpartition(" [")
        fact_id = named.removesuffix("]")
        is_known = bool(content) and fact_id != named and memory.fact(fact_id) is not None
        if is_known and fact_id not in facts:
            facts[fact_id] = content.rstrip()
        else:  # a copied id names the first
            new.append(content.rstrip() if is_known else found["content"])
    stated = set(map(fact_key, facts.values()))
    others = {fact_key(fact.content): fact for fact in memory.facts if fact.id not in facts}
    for line in new:
        key = fact_key(line)
        if fact := others.get(key):
            facts[fact.id] = single_line(fact.content)
        elif key not in stated:
            facts[new_fact_id()] = line
        stated.add(key)
    return facts


def _profile(memory: MemoryDocument) -> Iterator[MemoryFile]:
    parts = [f"{line}\n" for line in map(str.strip, profile_lines(memory.profile.values))]
    for name, section in with_current_summaries(memory).sections():
        if text := recalled_summary(section).strip():
            parts.append(f"# {section_title(name)}\n{clean_visible(text)}\n")
    if parts:
        yield MemoryFile(PROFILE, "".join(parts), memory.last_updated)


def _days(episodes: Sequence[Episode], timezone: str) -> Iterator[MemoryFile]:
    by_day: dict[str, list[Episode]] = {}
    for episode in episodes:
        if day := shown_date(episode.at, timezone):
            by_day.setdefault(day, []).append(episode)
    for day, said in by_day.items():
        words = [(episode.author, single_line(recalled_words(episode))) for episode in said]
        lines = [f"- {'assistant: ' if author == 'assistant' else ''}{text}\n" for author, text in words if text]
        if lines:
            yield MemoryFile(f"{DAYS}/{day}.md", "".join(lines), said[-1].at)


def is_rendered(path: str) -> bool:
    """Return whether the memory renders *path*, so that no file of an agent has it."""
    return path == PROFILE or path.partition("/")[0] in {FACTS, DAYS}


def normalize_path(path: str) -> str:
    """Return *path*, relative to the root of the memory, without the slash at its beginning or end.

    Raises:
        EditError: If it is empty or too long, leaves the root, or has hidden characters.
    """
    plain = path.strip("/")
    parts = plain.split("/")
    if not plain or len(plain) > MAX_PATH_CHARS:
        raise EditError(f"a path has 1 to {MAX_PATH_CHARS} characters: {path[:80]!r}")
    if any(part in {"", ".", "..", "~"} or part != part.strip() for part in parts):
        raise EditError(f"{path!r}: a path has no empty part, and none that leads elsewhere, such as '..'")
    if "\\" in plain or clean_visible(plain) != plain or not plain.isprintable():
        raise EditError(f"{path!r}: a path has no backslash and no hidden characters")
    return plain
