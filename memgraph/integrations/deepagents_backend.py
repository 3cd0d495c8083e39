"""A memory as a backend of deepagents, for its folder `/memories/`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from langgraph.store.memory import InMemoryStore

from memgraph.errors import ConfigError, EditError
from memgraph.integrations.files import MemoryFiles

if TYPE_CHECKING:
    from memgraph.opened import OpenMemory

_VIEW = ("files",)


def deepagents_backend(memory: OpenMemory, user_id: str | Callable[[], str], agent_name: str | None = None) -> Any:  # noqa: ANN401 - a BackendProtocol of deepagents, which is optional; so are the other results
    """Return the files of a memory for `CompositeBackend(default=..., routes={"/memories/": backend})`.

    What is not admitted, or waits for a person, is the `error` of a result, which the model reads.

    Args:
        memory: The open memory.
        user_id: The user, or a function that returns the user of the run that is going on.
        agent_name: The agent, if it has its own memory of the user.

    Raises:
        ConfigError: If the package deepagents is not installed.
    """
    protocol = _deepagents().protocol.BackendProtocol
    return type("DeepAgentsBackend", (_FileOperations, protocol), {})(memory, user_id, agent_name)


def _deepagents() -> Any:  # noqa: ANN401
    try:
        return import_module("deepagents.backends")
    except ImportError as error:
        raise ConfigError("the backend needs the package deepagents: pip install deepagents") from error


class _FileOperations:
    """The operations of deepagents' protocol, which adds the asynchronous ones."""

    def __init__(self, memory: OpenMemory, user_id: str | Callable[[], str], agent_name: str | None = None) -> None:
        self._memory, self._user_id, self._agent_name = memory, user_id, agent_name

    @property
    def _files(self) -> MemoryFiles:
        user_id = self._user_id() if callable(self._user_id) else self._user_id
        return MemoryFiles(self._memory, user_id, self._agent_name)

    def _view(self) -> tuple[Any, InMemoryStore]:
        """Return deepagents' own backend of a store over the files as they are, and the store."""
        store = InMemoryStore()
        for path, file in self._files.all().items():
            times = {"created_at": file.modified_at, "modified_at": file.modified_at}
            store.put(_VIEW, f"/{path}", {"content": file.text, "encoding": "utf-8", **times})
        return _deepagents().StoreBackend(store=store, namespace=_view_namespace), store

    def ls(self, path: str) -> Any:  # noqa: ANN401
        """List a folder."""
        return self._view()[0].ls(path)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> Any:  # noqa: ANN401
        """Return lines of a file."""
        return self._view()[0].read(file_path, offset, limit)

    def grep(self, pattern: str, path: str | None = None, glob: str | None = None, **options: Any) -> Any:  # noqa: ANN401
        """Find a text in files."""
        return self._view()[0].grep(pattern, path, glob, **options)

    def glob(self, pattern: str, path: str | None = None) -> Any:  # noqa: ANN401
        """Find files by their paths."""
        return self._view()[0].glob(pattern, path)

    def write(self, file_path: str, content: str) -> Any:  # noqa: ANN401
        """Write a file."""
        return self._applied(file_path, lambda view: view.write(file_path, content))

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - the signature of the protocol
        """Replace a text in a file."""
        return self._applied(file_path, lambda view: view.edit(file_path, old_string, new_string, replace_all))

    def delete(self, file_path: str) -> Any:  # noqa: ANN401
        """Delete a file, or a folder."""
        return self._applied(file_path, lambda view: view.delete(file_path))

    def upload_files(self, files: list[tuple[str, bytes]]) -> Any:  # noqa: ANN401
        """Write files."""
        return [self._applied(path, lambda view, one=(path, data): view.upload_files([one])[0]) for path, data in files]

    def download_files(self, paths: list[str]) -> Any:  # noqa: ANN401
        """Return files."""
        return self._view()[0].download_files(paths)

    def _applied(self, path: str, change: Callable[[Any], Any]) -> Any:  # noqa: ANN401
        """Change the view, then write what became of the file to the memory."""
        view, store = self._view()
        result = change(view)
        if result.error is None:
            try:
                item = store.get(_VIEW, path)
                if item and item.value.get("encoding") == "base64":
                    result.error = f"{path}: a memory keeps texts, and this is none in UTF-8"
                elif item:
                    self._files.write(path, str(item.value["content"]))
                else:
                    self._files.delete(path)
            except EditError as error:
                result.error = str(error)
        return result


def _view_namespace(_runtime: object) -> tuple[str, ...]:
    return _VIEW
