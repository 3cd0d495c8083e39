"""Vectors beside the memory, on disk: of `file:` and `sqlite:`."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING

import numpy as np
import pytest

from memgraph.models import Fact, MemoryDocument, Scope
from memgraph.retrieval.vector_store import ModelIdentity, Vector, VectorStore, digest_of
from memgraph.storage import MemoryStorage, open_storage
from memgraph.storage.document import tombstone

if TYPE_CHECKING:
    from pathlib import Path

ADA = Scope("ada")
TEA, MILK = digest_of("tea"), digest_of("milk")


def vector(*numbers: float) -> Vector:
    return np.array(numbers, np.float32)


MODEL = ModelIdentity("nomic", vector(1, 0))
VECTORS = {TEA: vector(0.6, 0.8), MILK: vector(0, 1)}


@pytest.fixture(params=["file:{}", "sqlite:{}/memory.db"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return request.param.format(tmp_path)


def vectors_of(url: str, scope: Scope = ADA) -> VectorStore:
    """Return the store as a new process opens it."""
    found = open_storage(url).vectors(scope)
    assert found is not None
    return found


def stored(url: str, scope: Scope = ADA, model: ModelIdentity = MODEL) -> dict[str, list[float]]:
    return {digest: found.tolist() for digest, found in vectors_of(url, scope).load(model, [TEA, MILK]).items()}


ALL = {digest: numbers.tolist() for digest, numbers in VECTORS.items()}


def vector_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*vectors.db*"))


def test_saved_vectors_are_loaded_by_the_next_process(url: str) -> None:
    vectors_of(url).save(MODEL, VECTORS)

    assert stored(url) == ALL


def test_only_what_was_asked_for_is_loaded(url: str) -> None:
    vectors_of(url).save(MODEL, VECTORS)

    assert list(vectors_of(url).load(MODEL, [TEA, digest_of("rum")])) == [TEA]


def test_reading_creates_no_file(url: str, tmp_path: Path) -> None:
    vectors_of(url).prune([])

    assert (stored(url), vector_files(tmp_path)) == ({}, [])


@pytest.mark.parametrize(
    "other", [ModelIdentity("e5", MODEL.probe), ModelIdentity("nomic", vector(0, 1)), ModelIdentity("nomic", vector(1))]
)
def test_vectors_of_another_model_are_not_returned_and_then_replaced(url: str, other: ModelIdentity) -> None:
    vectors_of(url).save(MODEL, VECTORS)
    assert stored(url, model=other) == {}

    vectors_of(url).save(other, {TEA: other.probe})

    assert (stored(url), stored(url, model=other)) == ({}, {TEA: other.probe.tolist()})


def test_pruned_vectors_are_gone(url: str) -> None:
    vectors_of(url).save(MODEL, VECTORS)

    vectors_of(url).prune([MILK])

    assert list(stored(url)) == [MILK]


def test_each_user_and_agent_has_vectors_of_its_own(url: str) -> None:
    vectors_of(url).save(MODEL, VECTORS)
    vectors_of(url, Scope("bob")).save(MODEL, {TEA: VECTORS[TEA]})

    vectors_of(url, Scope("bob")).prune([])

    assert (stored(url), stored(url, Scope("bob")), stored(url, Scope("ada", "bot"))) == (ALL, {}, {})


def test_stores_of_one_memory_are_equal(url: str) -> None:
    assert vectors_of(url) == vectors_of(url) != vectors_of(url, Scope("bob"))
    assert len({vectors_of(url), vectors_of(url)}) == 1


# -- deletion -------------------------------------------------------------------------------------


def test_vectors_are_deleted_with_the_memory(url: str) -> None:
    vectors_of(url).save(MODEL, VECTORS)
    vectors_of(url, Scope("bob")).save(MODEL, VECTORS)

    open_storage(url).delete(ADA)

    assert (stored(url), stored(url, Scope("bob"))) == ({}, ALL)


def test_a_saved_tombstone_deletes_them_too(url: str) -> None:
    vectors_of(url).save(MODEL, VECTORS)
    storage = open_storage(url)

    storage.save(ADA, tombstone(None).model_copy(update={"revision": 0}))

    assert stored(url) == {}


def test_deleted_numbers_do_not_remain_in_any_file(url: str, tmp_path: Path) -> None:
    numbers = vector(*np.linspace(0.1, 0.9, 64))
    vectors_of(url).save(MODEL, {TEA: numbers})

    open_storage(url).delete(ADA)

    files = vector_files(tmp_path)
    assert files
    assert not [path for path in files if numbers.tobytes() in path.read_bytes() or TEA.encode() in path.read_bytes()]


def test_a_recall_that_began_before_a_deletion_stores_nothing(url: str) -> None:
    recalling = vectors_of(url)
    open_storage(url).delete(ADA)

    recalling.save(MODEL, VECTORS)

    assert stored(url) == {}


def test_a_memory_that_begins_again_has_vectors_again(url: str) -> None:
    storage = open_storage(url)
    storage.delete(ADA)
    storage.save(ADA, storage.load(ADA).with_facts((Fact(content="tea"),)))

    vectors_of(url).save(MODEL, VECTORS)

    assert stored(url) == ALL


# -- files ----------------------------------------------------------------------------------------


def test_files_are_private(url: str, tmp_path: Path) -> None:
    vectors_of(url).save(MODEL, VECTORS)

    assert {stat.S_IMODE(path.stat().st_mode) for path in vector_files(tmp_path)} == {0o600}


def test_a_damaged_file_counts_as_empty_and_is_made_again(url: str, tmp_path: Path) -> None:
    vectors_of(url).save(MODEL, VECTORS)
    (path,) = tmp_path.rglob("*vectors.db")
    path.write_bytes(b"not a database, " * 1_000)

    assert stored(url) == {}
    vectors_of(url).save(MODEL, VECTORS)
    assert stored(url) == ALL


def test_a_vector_of_another_length_is_not_returned(url: str) -> None:
    vectors_of(url).save(MODEL, {TEA: vector(1), MILK: VECTORS[MILK]})

    assert list(stored(url)) == [MILK]


def test_a_file_that_cannot_be_written_is_logged_and_recall_goes_on(
    url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    storage = open_storage(url)
    storage.save(ADA, MemoryDocument())
    blocked = vectors_of(url)
    vectors_of(url).save(MODEL, VECTORS)
    (path,) = tmp_path.rglob("*vectors.db")
    for file in vector_files(tmp_path):
        file.unlink()
    path.mkdir()

    blocked.save(MODEL, VECTORS)

    assert "vectors of" in caplog.text
    assert blocked.load(MODEL, [TEA]) == {}


def _save_some(url: str, worker: int) -> None:
    for number in range(5):
        vectors_of(url).save(MODEL, {digest_of(f"{worker} {number}"): VECTORS[TEA]})


def test_processes_and_threads_may_save_at_once(url: str) -> None:
    with ThreadPoolExecutor(2) as threads:
        processes = [get_context("spawn").Process(target=_save_some, args=(url, worker)) for worker in range(2)]
        for process in processes:
            process.start()
        list(threads.map(lambda worker: _save_some(url, worker), [2, 3]))
        for process in processes:
            process.join()

    digests = [digest_of(f"{worker} {number}") for worker in range(4) for number in range(5)]
    assert len(vectors_of(url).load(MODEL, digests)) == len(digests)


def test_a_storage_without_files_keeps_them_in_ram_only() -> None:
    storage: MemoryStorage = open_storage("memory:")

    assert storage.vectors(ADA) is None
