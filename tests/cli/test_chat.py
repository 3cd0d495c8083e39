"""memgraph chat answers with the memory and learns from the conversation."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from memgraph import Fact, MemoryDocument, Scope, open_storage
from memgraph.chat_agent import TEXTS, find_quotes
from memgraph.cli.chat import NO_USER, OFF, OFFLINE_ANSWERS
from memgraph.llm import models as chat_models
from memgraph.models import Episode
from memgraph.retrieval.pipeline import RecallPipeline
from memgraph.retrieval.results import ScoredFact
from memgraph.testing import ScriptedModel, update_answer

MAIN = [sys.executable, "-c", "from memgraph.cli import main; main()", "chat", "--user", "ada"]

Memgraph = Callable[..., Any]
Talk = Callable[..., list[str]]
Process = Callable[..., Any]


@pytest.fixture
def chat(run_process: Callable[..., Any]) -> Process:
    """Run `memgraph chat` in a new process, with one message per line."""

    def run(*messages: str, options: Sequence[str] = ()) -> Any:
        return run_process("chat", "--user", "ada", *options, stdin="\n".join(messages).encode())

    return run


@pytest.fixture
def talk(memgraph: Memgraph) -> Talk:
    """Run `memgraph chat` without a provider in this process, and return the lines that it prints."""

    def run(*messages: str) -> list[str]:
        typed = "\n".join(messages).encode()
        return memgraph("chat", "-u", "ada", "--model", "offline", stdin=typed).out.splitlines()

    return run


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedModel:
    """A provider, `scripted:one`, that uses the injected memory and learns a name."""

    def reply(prompt: Sequence[BaseMessage]) -> str:
        if "newFacts" in prompt[0].text:
            return update_answer("Name is Ada.")
        return "You are Ada." if "Name is Ada." in prompt[0].text else "Who are you?"

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    model = ScriptedModel(reply)
    models = {**chat_models.CHAT_MODELS, "scripted": lambda _name, _params: model}
    monkeypatch.setattr(chat_models, "CHAT_MODELS", MappingProxyType(models))
    return model


# -- without a provider --


def test_memory_survives_the_process(chat: Process) -> None:
    """The purpose of the command."""
    chat("Hi, my name is Ada.")

    answer = chat("What is my name?").out

    assert answer.startswith("I remember:\n  Name is Ada. (")


def test_learned_facts_are_noted(chat: Process) -> None:
    """On one line."""
    assert chat("Hi, my name is Ada.").out == "Learned: Name is Ada.\n"


def test_a_change_shows_what_was_before(chat: Process) -> None:
    done = chat("I live in Porto.", "I moved to Lisbon.")

    assert done.out.splitlines()[1] == "Learned: Lives in Lisbon. (Before: Lives in Porto.)"


def test_words_that_no_fact_holds_are_kept_and_answer_in_the_next_process(chat: Process) -> None:
    """What was said is recallable, whether or not a fact follows from it."""
    said = "We hiked to the lighthouse and lost our way in the fog."

    noted = chat(said).out
    answer = chat("Where did we lose our way in the fog?").out

    assert noted == f"{TEXTS['en'].kept}\n"
    assert f'  "{said}" (' in answer


@pytest.mark.parametrize("question", ["What do you know about me?", "Can you tell me what you've learned so far?"])
def test_a_question_about_everything_is_answered_by_every_fact(chat: Process, tmp_path: Path, question: str) -> None:
    facts = [Fact(content=f"Plays a {thing}.") for thing in ("lute", "harp", "drum", "horn", "flute", "viola", "cello")]
    storage = open_storage(f"file:{tmp_path / 'memories'}")
    storage.save(Scope("ada"), MemoryDocument(facts=tuple(facts)))

    answer = chat(question).out

    assert [fact.content for fact in facts if fact.content not in answer] == []


def test_questions_are_not_quoted_as_answers(chat: Process) -> None:
    """They are episodes, too, but say nothing."""
    assert chat("Where is my bicycle?", "Where is my bicycle?").out == f"{TEXTS['en'].nothing}\n" * 2


def test_what_the_user_asks_to_remember_is_stored_word_for_word(chat: Process, tmp_path: Path) -> None:
    """As a manual fact, which no update removes."""
    done = chat("remember that I park on level 3", "记住：我对花生过敏")

    facts = open_storage(f"file:{tmp_path / 'memories'}").load(Scope("ada")).facts
    assert [(fact.content, fact.is_manual) for fact in facts] == [("I park on level 3", True), ("我对花生过敏", True)]
    assert done.out.splitlines() == ['Learned: "I park on level 3"', '学到了："我对花生过敏"']


def test_what_is_to_be_remembered_is_an_episode_as_every_message(talk: Talk, tmp_path: Path) -> None:
    """The fact rests on it."""
    talk("remember that I park on level 3")

    storage = open_storage(f"file:{tmp_path / 'memories'}")
    (episode,) = storage.episodes(Scope("ada"))
    (fact,) = storage.load(Scope("ada")).facts
    assert episode.text == "remember that I park on level 3"
    assert [(item.episode, item.quote) for item in fact.evidence] == [(episode.id, "I park on level 3")]


def test_remembering_twice_is_one_fact(chat: Process, tmp_path: Path) -> None:
    done = chat("remember that I park on level 3", "Remember that I park on level 3")

    assert done.out.splitlines()[1] == TEXTS["en"].known_already
    assert _contents(tmp_path) == ["I park on level 3"]


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("hi", TEXTS["en"].greeting),
        ("你好！", TEXTS["zh"].greeting),
        ("thanks", TEXTS["en"].acknowledged),
        ("my password is hunter2secret", TEXTS["en"].kept_in_part),
        ("密码是hunter2secret", TEXTS["zh"].kept_in_part),
        ("The weather is lovely today.", TEXTS["en"].acknowledged),
        ("好的", TEXTS["zh"].acknowledged),
        ("Have I been to Rome?", TEXTS["en"].nothing),
        ("罗马在哪里?", TEXTS["zh"].nothing),
        ("/unknown", "There is no command /unknown; /help lists them."),
        ("exit", ""),
    ],
)
def test_replies_fit_the_message(memgraph: Memgraph, text: str, reply: str) -> None:
    """Only a question is answered by what is known, in its own language."""
    done = memgraph("chat", "-u", "ada", "--model", "offline", stdin=text.encode())

    assert done.out.strip() == reply


def test_chinese_talk_is_noted_and_answered_in_chinese(chat: Process) -> None:
    done = chat("上周末和妹妹去了乌镇", "我和谁去了乌镇？")

    noted, heading, quote = done.out.splitlines()
    assert (noted, heading) == (TEXTS["zh"].kept, "我记得：")
    assert quote.startswith("  “上周末和妹妹去了乌镇” (")


def test_missing_provider_is_reported_in_one_line(chat: Process) -> None:
    """With the reason, and how to change it; the chat continues."""
    done = chat()

    assert done.code == 0
    assert done.err.startswith(f"{OFFLINE_ANSWERS} The reason: no model provider is configured. To change it, run")
    assert done.err.count("\n") == 1


def test_the_offline_model_reports_that_it_cannot_chat(chat: Process) -> None:
    """An explicit choice is not a missing provider."""
    assert chat(options=["--model", "offline"]).err == f"{OFFLINE_ANSWERS}\n"


def test_the_first_prompt_waits_for_no_large_import(run_process: Process) -> None:
    """LangGraph and LangChain are imported while the user types."""
    code = """
import sys
from memgraph.cli import chat, main
open_invoker = chat.ChatAgent.open
def report(self):
    if self._opening is None:
        print(sorted({"langgraph", "langchain_core", "numpy"} & set(sys.modules)))
    return open_invoker(self)
chat.ChatAgent.open = report
main()
"""

    done = run_process("chat", "--model", "offline", code=code)

    assert (done.code, done.out) == (0, "[]\n")


# -- the user --


def test_the_user_is_the_login_name(memgraph: Memgraph, monkeypatch: pytest.MonkeyPatch) -> None:
    """No arguments are needed."""
    monkeypatch.setenv("LOGNAME", "grace")

    assert memgraph("chat", "--json").json["user_id"] == "grace"


def test_memgraph_user_names_the_user(memgraph: Memgraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_USER", "maya")

    assert memgraph("chat", "--json").json["user_id"] == "maya"


def test_a_system_without_login_names_needs_a_user(memgraph: Memgraph, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container with a numeric user."""

    def fail() -> str:
        raise OSError("No username set in the environment")

    monkeypatch.setattr("getpass.getuser", fail)

    done = memgraph("chat")

    assert (done.code, done.err) == (2, f"Error: {NO_USER}\n")


# -- commands --


def test_help_lists_the_commands(memgraph: Memgraph) -> None:
    out = memgraph("chat", "-u", "ada", "--model", "offline", stdin=b"/help\n").out

    listed = [line.split()[0] for line in out.splitlines() if line.startswith("/")]
    assert listed == ["/memory", "/search", "/forget", "/why", "/undo", "/model", "/help", "/quit"]


@pytest.mark.parametrize("word", ["exit", "quit", "/exit", "/quit", "EXIT", "退出"])
def test_a_word_ends_the_chat(memgraph: Memgraph, word: str) -> None:
    """What follows is not read."""
    done = memgraph("chat", "-u", "ada", "--model", "offline", stdin=f"{word}\nhi\n".encode())

    assert (done.code, done.out) == (0, "")


def test_memory_lists_facts_and_counts_episodes(chat: Process) -> None:
    done = chat("My name is Tom.", "/memory")

    assert done.out.splitlines()[1].startswith("1 fact, 1 episode in ")
    assert "  Name is Tom. (" in done.out.splitlines()[2]


def test_search_finds_facts_and_words(chat: Process) -> None:
    done = chat("remember that the lighthouse is red", "We hiked to the lighthouse.", "/search lighthouse")

    found = "\n".join(done.out.splitlines()[2:])
    assert "the lighthouse is red (" in found
    assert '"We hiked to the lighthouse." (' in found


def test_forget_removes_one_fact(chat: Process, tmp_path: Path) -> None:
    storage = open_storage(f"file:{tmp_path / 'memories'}")
    storage.save(
        Scope("ada"), MemoryDocument(facts=(Fact(id="fact_1", content="Likes tea."), Fact(content="Likes rain.")))
    )

    done = chat("/forget fact_1", "/forget fact_1")

    assert done.out.splitlines()[0] == "Removed: Likes tea."
    assert done.out.splitlines()[1].startswith("there is no fact 'fact_1'")
    assert _contents(tmp_path) == ["Likes rain."]


def test_the_last_change_is_undone(talk: Talk, tmp_path: Path) -> None:
    out = talk("remember that I park on level 3", "/undo", "/undo", "/undo x")

    assert out[1].startswith("Undid revision ")
    assert out[-2] == "there is nothing to undo in the history of this memory."
    assert out[-1].startswith("/undo undoes the last change;")
    assert _contents(tmp_path) == []


def test_why_shows_what_a_fact_rests_on(talk: Talk, tmp_path: Path) -> None:
    talk("remember that I park on level 3")
    (fact,) = open_storage(f"file:{tmp_path / 'memories'}").load(Scope("ada")).facts

    out = talk(f"/why {fact.id}", "/why", "/why cat")

    assert out[0].startswith(f'{fact.id}  [context | 1.00] "I park on level 3"')
    assert '  "I park on level 3"' in out
    assert out[-2].startswith("/why ID shows")
    assert out[-1].startswith("there is no fact 'cat'")


def test_forget_removes_the_words_that_only_this_fact_rests_on(talk: Talk, tmp_path: Path) -> None:
    """Later messages of the same chat do not bring them back, and the reply shows them."""
    talk("remember that I park on level 3")
    storage = open_storage(f"file:{tmp_path / 'memories'}")
    (fact,) = storage.load(Scope("ada")).facts

    said = talk("My name is Tom.", f"/forget {fact.id}", "hi", "Where do I park?")

    assert said[1:3] == ["Removed: I park on level 3", '  "remember that I park on level 3" (your words: removed, too)']
    assert said[-1] == TEXTS["en"].nothing
    assert "remember that I park on level 3" not in [episode.text for episode in storage.episodes(Scope("ada"))]


def test_forget_shows_the_words_that_another_fact_rests_on(talk: Talk, tmp_path: Path) -> None:
    """They are still recalled."""
    talk("My name is Tom and I live in Porto.")
    storage = open_storage(f"file:{tmp_path / 'memories'}")
    fact, other = storage.load(Scope("ada")).facts

    first = talk(f"/forget {fact.id}")
    second = talk(f"/forget {other.id}")

    words = '  "My name is Tom and I live in Porto."'
    assert first[1:] == [f"{words} (your words: remain; another fact rests on them)"]
    assert second[1:] == [f"{words} (your words: removed, too)"]


def test_forget_all_deletes_facts_and_words(chat: Process, tmp_path: Path) -> None:
    """Later messages of the same chat do not bring them back."""
    chat("My name is Tom.", "We hiked to the lighthouse.", "/forget all", "I live in Porto.")

    storage = open_storage(f"file:{tmp_path / 'memories'}")
    assert _contents(tmp_path) == ["Lives in Porto."]
    assert [episode.text for episode in storage.episodes(Scope("ada"))] == ["I live in Porto."]


def test_model_says_which_model_learns(memgraph: Memgraph) -> None:
    done = memgraph("chat", "-u", "ada", "--model", "offline", stdin=b"/model\n")

    assert done.out.startswith(f"{OFFLINE_ANSWERS} The reason: model_name is set.")


def test_a_path_is_talk(chat: Process) -> None:
    """Only a slash and letters are a command."""
    assert chat("/etc/hosts is my favourite file.").out == f"{TEXTS['en'].kept}\n"


def test_an_invalid_user_id_is_bad_input(chat: Process) -> None:
    """One line, and exit code 2."""
    done = chat("Hi.", options=["--user", "a\nb"])

    assert done.code == 2
    assert done.err.startswith("Error: user_id")
    assert len(done.err.splitlines()) == 1


def test_an_invalid_model_is_bad_input(chat: Process) -> None:
    """Reported before the first message."""
    assert chat("Hi.", options=["--model", "nonsense"]).code == 2


def test_ctrl_d_ends_the_chat(open_terminal: Any, environment: dict[str, str]) -> None:
    """As typed at a terminal."""
    terminal = open_terminal("chat", "--user", "ada", **environment)
    terminal.wait_for("you> ")
    terminal.type("Hi, my name is Ada.\n")
    terminal.wait_for("Learned: Name is Ada.")
    terminal.wait_for("you> ", times=2)

    terminal.type("\x04")

    assert terminal.wait() == 0


def test_ctrl_c_ends_the_chat(environment: dict[str, str], tmp_path: Path) -> None:
    """Exits cleanly, and earlier messages are learned."""
    with subprocess.Popen(
        MAIN, env=environment, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"Hi, my name is Ada.\n")
        process.stdin.flush()
        process.stdout.readline()

        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)

    assert process.returncode == 0
    assert err.count(b"\n") == 1, "no more than the notice about the missing provider"
    assert _contents(tmp_path) == ["Name is Ada."]


def test_control_characters_are_escaped(chat: Process, tmp_path: Path) -> None:
    """Escape sequences in stored text do not reach the terminal."""
    storage = open_storage(f"file:{tmp_path / 'memories'}")
    storage.save(Scope("ada"), MemoryDocument(facts=(Fact(content="Likes \x1b[31mred\x1b[0m tea."),)))

    answer = chat("Do I like tea?").out

    assert "Likes <U+001B>[31mred" in answer
    assert "\x1b" not in answer


def test_invalid_utf8_does_not_end_the_chat(run_process: Process, tmp_path: Path) -> None:
    """Invalid bytes are replaced."""
    done = run_process("chat", "--user", "ada", stdin=b"\xff\xfe\n\nHi, my name is Ada.\n")

    assert (done.code, _contents(tmp_path)) == (0, ["Name is Ada."])


def test_json_prints_one_document(chat: Process) -> None:
    """Nothing else is written to stdout."""
    document = json.loads(chat("Hi, my name is Ada.", options=["--json", "--thread", "t1"]).out)

    assert (document["user_id"], document["thread_id"]) == ("ada", "t1")
    assert [message["role"] for message in document["messages"]] == ["user", "assistant"]
    assert [fact["source"] for fact in document["learned"]] == ["t1"]


def test_disabled_memory_is_reported(memgraph: Memgraph, monkeypatch: pytest.MonkeyPatch, document: Path) -> None:
    """Nothing is learned."""
    monkeypatch.setenv("MEMGRAPH_ENABLED", "false")

    done = memgraph("chat", "-u", "ada", stdin=b"Hi, my name is Ada.\n")

    assert OFF in done.err
    assert "I did not keep that: memory is off." in done.out
    assert not document.exists()


def test_what_is_not_kept_has_a_reason(memgraph: Memgraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_EPISODES", "off")

    done = memgraph("chat", "-u", "ada", stdin=b"The weather was quite something.\n")

    assert "I did not keep that: I found nothing about you in it." in done.out


# -- with one --


def test_the_memory_is_injected(memgraph: Memgraph, scripted: ScriptedModel) -> None:
    """A later chat uses what the first one has learned at its end."""
    first = memgraph("chat", "-u", "ada", "--model", "scripted:one", stdin=b"My name is Ada.\n")
    second = memgraph("chat", "-u", "ada", "--model", "scripted:one", stdin=b"Who am I?\n")

    assert "Who are you?" in first.out
    assert "Learned: Name is Ada." in first.out
    assert "You are Ada." in second.out


def test_a_spinner_is_shown_until_the_first_word(
    memgraph: Memgraph, monkeypatch: pytest.MonkeyPatch, scripted: ScriptedModel
) -> None:
    """At a terminal only."""
    say = ("chat", "-u", "ada", "--model", "scripted:one")
    piped = memgraph(*say, stdin=b"My name is Ada.\n").out

    monkeypatch.setenv("FORCE_COLOR", "1")
    before, answer, _ = memgraph(*say, stdin=b"Who am I?\n").out.partition("You are Ada.")

    assert ":00" not in piped
    assert "0:00:00" in before
    assert answer


def test_the_model_receives_the_conversation_so_far(memgraph: Memgraph, scripted: ScriptedModel) -> None:
    """Each message once, after the memory."""
    memgraph("chat", "-u", "ada", "--model", "scripted:one", stdin=b"One.\nTwo.\n")

    (second,) = [prompt for prompt in scripted.asked if prompt[-1].text == "Two."]
    assert [message.text for message in second[1:]] == ["One.", "Who are you?", "Two."]


def test_a_model_error_does_not_end_the_chat(
    memgraph: Memgraph, monkeypatch: pytest.MonkeyPatch, scripted: ScriptedModel
) -> None:
    """The error is one line, and the next message is answered."""
    model = ScriptedModel(ConnectionError("connection\nrefused"), "Here I am.", update_answer())
    monkeypatch.setattr(chat_models, "CHAT_MODELS", MappingProxyType({"scripted": lambda _name, _params: model}))

    done = memgraph("chat", "-u", "ada", "--model", "scripted:one", stdin=b"Hi.\nStill there?\n")

    assert done.err == "the model did not answer: connection refused; what you said is kept\n"
    assert "Here I am." in done.out


# -- answers quoted from memory --


def quotes(memory: MemoryDocument, question: str, *episodes: Episode) -> list[str]:
    found = find_quotes(RecallPipeline(), memory, episodes, question)
    return [each.fact.content if isinstance(each, ScoredFact) else each.episode.text for each in found]


@pytest.mark.parametrize(("text", "expected"), [("Where do I work?", ["Works at Acme."]), ("Have I been to Rome?", [])])
def test_only_matching_facts_are_quoted(text: str, expected: list[str]) -> None:
    memory = MemoryDocument(
        facts=(Fact(content="Works at Acme.", confidence=0.8), Fact(content="Likes tea", confidence=0.9))
    )

    assert quotes(memory, text) == expected


def test_superseded_facts_are_not_quoted() -> None:
    """Only current facts are quoted."""
    old = Fact(id="fact_old", content="Lives in Porto.")
    new = Fact(id="fact_new", content="Lives in Lisbon.", replaces=("fact_old",))

    assert quotes(MemoryDocument(facts=(old, new)), "Where do I live?") == ["Lives in Lisbon."]


def test_words_are_not_quoted_beside_a_later_fact_about_the_same() -> None:
    """They may be what the fact replaced."""
    said = Episode(id="e_1", text="I live in Porto.", at="2026-03-02T00:00:00Z")
    fact = Fact(content="Lives in Lisbon.", said_at="2026-04-13T00:00:00Z")

    assert quotes(MemoryDocument(facts=(fact,)), "Where do I live?", said) == ["Lives in Lisbon."]


def test_words_with_more_of_the_question_are_quoted_beside_a_fact() -> None:
    said = Episode(id="e_1", text="I live with my sister in Porto.", at="2026-03-02T00:00:00Z")
    fact = Fact(content="Lives in Lisbon.", said_at="2026-04-13T00:00:00Z")

    assert said.text in quotes(MemoryDocument(facts=(fact,)), "Do I live with my sister?", said)


def test_a_neighbour_of_matching_words_is_not_quoted() -> None:
    """It is found by the turn before it, and has no word of the question."""
    first = Episode(id="e_1", thread_id="t", message_id="1", text="The lighthouse was closed.")
    second = Episode(id="e_2", thread_id="t", message_id="2", text="My boots are green.")

    assert quotes(MemoryDocument(), "Was the lighthouse closed?", first, second) == [first.text]


def _contents(folder: Path) -> list[str]:
    return [fact.content for fact in open_storage(f"file:{folder / 'memories'}").load(Scope("ada")).facts]
