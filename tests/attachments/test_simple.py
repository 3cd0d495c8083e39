"""Simple: what nodes were given and answered, found by meaning and by words."""

from __future__ import annotations

import math
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from embedding_fakes import Clock, Letters, patient
from exchanges import ask, exchange, shown
from langchain_core.embeddings import Embeddings

from memgraph.attachments.embedding import PROBE
from memgraph.attachments.lexical import text_similarity
from memgraph.attachments.search_index import COSINE_WEIGHT, LEXICAL_WEIGHT
from memgraph.attachments.simple import SimpleConfig, SimpleMemory
from memgraph.errors import EmbeddingError, MemoryStoreError
from memgraph.retrieval.terms import extract_terms


def memory(
    folder: Path, model: Embeddings | None = None, *, clock: Clock | None = None, **config: object
) -> SimpleMemory:
    """A simple memory in a file, with a model that does not make a test wait."""
    said = SimpleConfig.model_validate({"memory_path": "auto", "min_content_length": 0, **config})
    return SimpleMemory("notes", said, folder=folder, embedder=patient(model, clock) if model else None)


DECISIONS = [
    ("Which database do we take?", "PostgreSQL 16, since we know it."),
    ("Who writes the release notes?", "Grace does, on Fridays."),
    ("How do we test the parser?", "With hypothesis, against the old one."),
]


@pytest.fixture(params=[None, Letters], ids=["words", "vectors"])
def model(request: pytest.FixtureRequest) -> Embeddings | None:
    return request.param() if request.param else None


# -- finding --------------------------------------------------------------------------------------


def test_what_fits_best_comes_first(tmp_path: Path, model: Embeddings | None) -> None:
    """With an embedding model and without."""
    with memory(tmp_path, model) as store:
        for given, answer in DECISIONS:
            store.update(exchange(given, answer))

        found = ask(store, "Which database did we take?")

    assert found[0].item.content_summary == "Which database do we take?\n→ PostgreSQL 16, since we know it."
    assert [one.score for one in found] == sorted((one.score or 0 for one in found), reverse=True)


def test_the_score_is_cosine_and_words(tmp_path: Path) -> None:
    """0.7 of the one and 0.3 of the other."""
    model = Letters()
    with memory(tmp_path, model) as store:
        store.update(exchange("Which database?", "PostgreSQL."))

        (found,) = ask(store, "What database is it?")

    said = "Which database?\n→ PostgreSQL."
    one, other = model.embed_documents(["What database is it?", said])
    cosine = sum(x * y for x, y in zip(one, other, strict=True)) / (math.hypot(*one) * math.hypot(*other))
    words = text_similarity(extract_terms("What database is it?"), extract_terms(said))
    assert found.score == pytest.approx(COSINE_WEIGHT * cosine + LEXICAL_WEIGHT * words, abs=1e-6)


def test_the_threshold_is_on_the_cosine(tmp_path: Path) -> None:
    """Words cannot lift what means something else over it."""
    vectors = {PROBE: [1.0, 1.0], "tea": [1.0, 0.0], "tea\n→ hot": [0.0, 1.0], "pot\n→ full": [0.8, 0.6]}
    embedder = patient(lambda texts: [vectors[text] for text in texts])
    with SimpleMemory("notes", SimpleConfig(min_content_length=0), embedder=embedder) as store:
        store.update(exchange("tea", "hot"))
        store.update(exchange("pot", "full"))

        assert shown(ask(store, "tea", threshold=0.5)) == ["pot\n→ full"]
        assert len(ask(store, "tea", threshold=-1)) == 2


def test_an_item_has_all_that_went_in_and_came_out(tmp_path: Path) -> None:
    """With its vector, and the model that made it."""
    image = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}
    said = exchange(["What is this?", image], "A cat.")
    with memory(tmp_path, Letters()) as store:
        store.update(said)

        item = ask(store, "cat")[0].item

    assert (item.input_snapshot, item.output_snapshot) == (said.input, said.output)
    assert item.input_snapshot.content()[1] == image
    assert item.embedding is not None
    assert math.hypot(*item.embedding) == pytest.approx(1, abs=1e-6)
    assert item.embedding_model.endswith("Letters")


def test_a_question_without_words_finds_nothing(tmp_path: Path, model: Embeddings | None) -> None:
    """There is nothing to compare with."""
    with memory(tmp_path, model) as store:
        store.update(exchange("Which database?", "PostgreSQL."))

        assert not ask(store, " \n")


def test_chinese_is_found_by_words(tmp_path: Path) -> None:
    """It has no blanks between them."""
    with memory(tmp_path) as store:
        store.update(exchange("数据库选哪个?", "用 PostgreSQL。"))
        store.update(exchange("谁写发布说明?", "小李。"))

        assert shown(ask(store, "我们用什么数据库", top_k=1)) == ["数据库选哪个?\n→ 用 PostgreSQL。"]


# -- keeping --------------------------------------------------------------------------------------


def test_a_repetition_is_kept_once(tmp_path: Path, model: Embeddings | None) -> None:
    """Whatever it is called by; the whole content is compared, not what is shown of it."""
    with memory(tmp_path, model, max_content_length=50) as store:
        store.update(exchange("tea " * 50, "first"))
        store.update(exchange("tea " * 50, "first", node="other"))
        store.update(exchange("tea " * 50, "second"))

        assert len(ask(store, "tea", top_k=9)) == 2


def test_what_is_short_is_not_kept(tmp_path: Path) -> None:
    """An "ok" that is answered by "Fine." is of no use to anybody."""
    with memory(tmp_path, min_content_length=10) as store:
        store.update(exchange("ok", "Fine."))
        store.update(exchange("ok", "Fine, then."))

        assert shown(ask(store, "ok")) == ["ok\n→ Fine, then."]


@pytest.mark.parametrize(("given", "answer"), [("Tea. " * 99, "Milk."), ("Tea.", "Milk. " * 99), ("Tea. " * 99,) * 2])
def test_what_is_long_is_shown_cut_and_kept_whole(tmp_path: Path, given: str, answer: str) -> None:
    """Of both sides something is shown."""
    said = exchange(given, answer)
    with memory(tmp_path, max_content_length=60) as store:
        store.update(said)

        item = ask(store, "tea")[0].item

    shown_given, _, shown_answer = item.content_summary.partition("\n→ ")
    assert shown_given
    assert shown_answer
    assert len(item.content_summary) <= 60
    assert (item.input_snapshot, item.output_snapshot) == (said.input, said.output)


def test_the_oldest_go(tmp_path: Path, model: Embeddings | None) -> None:
    """Also from what is held in RAM, and when another process wrote what pushed them out."""
    with memory(tmp_path, model, max_memories=5) as store, memory(tmp_path, model, max_memories=5) as other:
        for number in range(4):
            store.update(exchange(f"Question {number}?", "Answer."))
        before = len(ask(store, "question", top_k=99))
        for number in range(4, 9):
            other.update(exchange(f"Question {number}?", "Answer."))

        found = shown(ask(store, "question", top_k=99))

    assert before == 4
    assert sorted(found) == [f"Question {number}?\n→ Answer." for number in range(4, 9)]


def test_what_another_process_wrote_is_found(tmp_path: Path, model: Embeddings | None) -> None:
    """Without a restart."""
    with memory(tmp_path, model) as store, memory(tmp_path, model) as other:
        assert not ask(store, "database")

        other.update(exchange("Which database?", "PostgreSQL."))

        assert shown(ask(store, "database")) == ["Which database?\n→ PostgreSQL."]


def test_what_somebody_took_out_of_the_middle_is_not_found(tmp_path: Path, model: Embeddings | None) -> None:
    """A person may delete by hand what should not have been said."""
    with memory(tmp_path, model) as store:
        for given, answer in DECISIONS:
            store.update(exchange(given, answer))
        ask(store, "database")
        db = sqlite3.connect(tmp_path / "notes.db")
        with db:
            db.execute("DELETE FROM item WHERE id = 2")
        db.close()

        assert {one.item.id for one in ask(store, "database", top_k=9)} == {"item_1", "item_3"}


def test_one_user_does_not_find_what_another_said(tmp_path: Path, model: Embeddings | None) -> None:
    """Nor does who is nobody in particular."""
    with memory(tmp_path, model) as store:
        for user in ("ada", "grace", None):
            store.update(exchange("The secret?", f"Of {user}.", user=user))

        found = {user: shown(ask(store, "secret", user=user)) for user in ("ada", "grace", None, "mallory")}

    assert found == {
        "ada": ["The secret?\n→ Of ada."],
        "grace": ["The secret?\n→ Of grace."],
        None: ["The secret?\n→ Of None."],
        "mallory": [],
    }


def test_a_shared_memory_is_everybody_s(tmp_path: Path) -> None:
    """Where the configuration says so."""
    with memory(tmp_path, shared=True) as store:
        store.update(exchange("Which database?", "PostgreSQL.", user="ada"))

        assert ask(store, "database", user="grace")


def test_many_threads_lose_nothing(tmp_path: Path) -> None:
    """Nodes run side by side."""
    with memory(tmp_path, Letters()) as store, ThreadPoolExecutor(8) as pool:

        def work(number: int) -> int:
            store.update(exchange(f"Question {number}?", "Answer."))
            return len(ask(store, "question"))

        found = list(pool.map(work, range(64)))

        assert min(found) >= 1
        assert len(ask(store, "question", top_k=99)) == 64


def test_a_file_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    """A blackboard is no simple memory, nor is a text."""
    path = tmp_path / "notes.db"
    path.write_bytes(b"this is no database. " * 500)

    with pytest.raises(MemoryStoreError, match=r"notes\.db.*left unchanged"):
        memory(tmp_path, Letters()).load()

    assert path.read_bytes() == b"this is no database. " * 500


def test_a_memory_that_is_removed_while_it_is_open_begins_anew(tmp_path: Path, model: Embeddings | None) -> None:
    """What was in RAM of the old file is not found either."""
    with memory(tmp_path, model) as store:
        store.update(exchange("Which database?", "PostgreSQL."))
        ask(store, "database")
        for path in tmp_path.iterdir():
            path.unlink()

        store.update(exchange("Which editor?", "Vim."))

        assert shown(ask(store, "database")) == ["Which editor?\n→ Vim."]


# -- a model that fails, or another one -----------------------------------------------------------


def test_a_model_that_is_down_costs_no_memory(tmp_path: Path) -> None:
    """It is an error, and what was said is on disk, found by its words, and embedded later."""
    model, clock = Letters(), Clock()
    with memory(tmp_path, model, clock=clock) as store:
        store.update(exchange("Which database?", "PostgreSQL."))
        model.is_down = True
        with pytest.raises(EmbeddingError, match="embedded later"):
            store.update(exchange("Which editor?", "Vim."))
        with pytest.raises(EmbeddingError):
            ask(store, "editor")

        model.is_down = False
        clock.now += 31
        found = ask(store, "Which editor?")

    assert found[0].item.content_summary == "Which editor?\n→ Vim."
    assert all(one.item.embedding for one in found)


def test_a_memory_whose_model_is_down_can_be_opened_and_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The agent starts before the server of embeddings does."""
    model, clock = Letters(), Clock()
    model.is_down = True
    store = memory(tmp_path, model, clock=clock)
    store.load()
    with pytest.raises(EmbeddingError, match="embedded later"):
        store.update(exchange("Which editor?", "Vim."))
    store.close()

    with memory(tmp_path, Letters()) as store:
        assert ask(store, "editor")[0].item.embedding

    assert "embedded when its model answers" in caplog.text


def test_what_the_model_refuses_is_found_by_its_words(tmp_path: Path) -> None:
    """And keeps nothing else from being found."""
    model = Letters()
    model.refused = "poison"
    with memory(tmp_path, model) as store:
        store.update(exchange("Which database?", "PostgreSQL."))
        with pytest.raises(EmbeddingError):
            store.update(exchange("A poison pill?", "No."))

    with memory(tmp_path, model) as store:
        assert shown(ask(store, "pill", top_k=1)) == ["A poison pill?\n→ No."]
        assert len(ask(store, "pill")) == 2


@pytest.mark.parametrize("alphabet", ["zyxwvutsrqponmlkjihgfedcba", "aeiou"], ids=["same size", "other size"])
def test_another_model_embeds_all_anew(tmp_path: Path, alphabet: str) -> None:
    """Vectors of two models cannot be compared, also where the models bear one name."""
    with memory(tmp_path, Letters()) as store:
        for given, answer in DECISIONS:
            store.update(exchange(given, answer))
    other = Letters(alphabet)

    with memory(tmp_path, other) as store:
        found = ask(store, "Which database do we take?")

    assert found[0].item.content_summary.startswith("Which database")
    assert {len(one.item.embedding or ()) for one in found} == {len(alphabet) + 1}
    assert set(other.embedded) == {PROBE, "Which database do we take?", *shown(found)}
    assert _vectors(tmp_path) == 3


def test_the_same_model_embeds_nothing_anew(tmp_path: Path) -> None:
    """A restart costs one call, by which it knows itself."""
    with memory(tmp_path, Letters()) as store:
        for given, answer in DECISIONS:
            store.update(exchange(given, answer))
    again = Letters()

    memory(tmp_path, again).load()

    assert again.embedded == [PROBE]


def test_a_model_that_is_exchanged_while_it_is_used_is_noticed(tmp_path: Path) -> None:
    """A server restarts with another one."""
    model = Letters()
    with memory(tmp_path, model) as store:
        store.update(exchange("Which database?", "PostgreSQL."))
        ask(store, "database")

        model.alphabet = "aeiou"
        found = ask(store, "database")

    assert [len(one.item.embedding or ()) for one in found] == [6]


class Ending(Letters):
    """Goes down when it is asked for a certain text, and stays so."""

    def __init__(self, at: str) -> None:
        super().__init__()
        self.at = at

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.is_down = self.is_down or self.at in "".join(texts)
        return super().embed_documents(texts)


def test_embedding_anew_goes_on_where_it_broke_off(tmp_path: Path) -> None:
    """A batch is kept as soon as it is done."""
    with memory(tmp_path) as store:
        for number in range(70):
            store.update(exchange(f"Question {number}?", "Answer."))
    model = Ending("Question 69?")
    memory(tmp_path, model).load()
    again = Ending("never asked for")

    memory(tmp_path, again).load()

    assert [len(texts) for texts in again.asked] == [1, 6]


def _vectors(folder: Path) -> int:
    db = sqlite3.connect(folder / "notes.db")
    try:
        return db.execute("SELECT count(*) FROM vector").fetchone()[0]
    finally:
        db.close()


# -- configuration --------------------------------------------------------------------------------


@pytest.mark.parametrize("said", ["local", {"provider": "local"}, Letters(), lambda texts: [[1.0] for _ in texts]])
def test_a_configuration_takes_any_model(said: Any) -> None:
    """A word, keys, LangChain's Embeddings, or a function."""
    assert SimpleConfig(embedding=said).embedding is not None


@pytest.mark.parametrize(
    "said",
    [{"max_memories": 0}, {"max_content_length": 1}, {"min_content_length": -1}, {"embedding": "opnai"}, {"max": 1}],
    ids=str,
)
def test_what_is_out_of_range_is_refused(said: dict[str, Any]) -> None:
    """A typing error must not change what is kept."""
    with pytest.raises(ValueError, match=next(iter(said))):
        SimpleConfig.model_validate(said)
