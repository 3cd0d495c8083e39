"""Settings: the precedence of arguments, environment, file and defaults, and the errors of invalid ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from memgraph.config import load, load_settings, make_context, make_storage, read_settings
from memgraph.context import AllowedChoices
from memgraph.errors import ConfigError
from memgraph.models import MemoryDocument, Scope
from memgraph.policy import Policy
from memgraph.settings import Settings
from memgraph.storage import open_storage


@pytest.fixture(autouse=True)
def isolated_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the settings of the developer who runs the tests."""
    for name in [name for name in os.environ if name.startswith(("MEMGRAPH_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "memgraph.yaml"


def config_error(file: Path, text: str, **overrides: Any) -> str:
    file.write_text(text)
    with pytest.raises(ConfigError) as error:
        load_settings(**overrides)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_settings_without_any_source_are_the_defaults() -> None:
    assert load_settings() == Settings()


def test_arguments_override_the_environment_and_it_overrides_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("memory: {max_facts: 20, max_threads: 20, max_races: 20}")
    monkeypatch.setenv("MEMGRAPH_MAX_FACTS", "30")
    monkeypatch.setenv("MEMGRAPH_MAX_THREADS", "30")

    settings = load_settings(max_facts=40)

    assert (settings.max_facts, settings.max_threads, settings.max_races) == (40, 30, 20)


def test_the_file_can_be_chosen_by_variable_or_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text("memory: {max_facts: 20}")
    (tmp_path / "b.yaml").write_text("memory: {max_facts: 30}")
    monkeypatch.setenv("MEMGRAPH_CONFIG", "a.yaml")

    assert load_settings().max_facts == 20
    assert load_settings(tmp_path / "b.yaml").max_facts == 30


def test_a_chosen_file_must_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_CONFIG", "nowhere.yaml")

    with pytest.raises(ConfigError, match=r"nowhere\.yaml cannot be read: No such file"):
        load_settings()


def test_variables_are_expanded_at_any_depth(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACE", "here")
    file.write_text("memory: {storage_path: 'file:${PLACE}/x'}\nmemories: [{name: a, config: {dirs: ['${PLACE}']}}]")

    settings = load_settings()

    assert settings.storage_path == "file:here/x"
    assert settings.memories[0]["config"] == {"dirs": ["here"]}


def test_an_unset_variable_is_an_error_that_names_the_key(file: Path) -> None:
    message = config_error(file, "memories: [{config: {key: '${NOPE}'}}]")

    assert message == "memgraph.yaml: memories[0].config.key needs the environment variable NOPE, which is not set"


def test_a_setting_of_an_earlier_release_is_ignored_with_a_warning(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An upgrade must not stop an application from starting."""
    file.write_text("memory:\n  episode_share: 0.3\n  max_facts: 77\n")

    assert load_settings().max_facts == 77
    assert "memory.episode_share is ignored" in caplog.text


DATABASE = "postgres://postgres:secret@db:5432/postgres?sslmode=disable"


@pytest.mark.parametrize("variable", ["POSTGRES_URI", "DATABASE_URI"])
def test_a_langgraph_server_keeps_memories_in_its_database(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk of its container goes with it."""
    monkeypatch.setenv("LANGSERVE_GRAPHS", "{}")
    monkeypatch.setenv(variable, DATABASE)

    loaded = read_settings()

    assert (loaded.settings.storage_path, loaded.sources["storage_path"]) == (DATABASE, variable)


@pytest.mark.parametrize(
    ("graphs", "database", "text"),
    [
        ("{}", DATABASE, "memory: {storage_path: file:mine}"),
        ("{}", DATABASE, "memory: {storage_class: mine.Storage}"),
        ("{}", ":memory:", ""),
        ("", DATABASE, ""),
    ],
    ids=["named", "class", "langgraph dev", "no server"],
)
def test_the_database_of_another_server_or_beside_a_named_storage_is_not_used(
    file: Path, graphs: str, database: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(text)
    expected = load_settings()
    for variable, value in (("LANGSERVE_GRAPHS", graphs), ("DATABASE_URI", database)):
        monkeypatch.setenv(variable, value)

    assert load_settings() == expected


def test_a_server_says_where_memories_of_an_earlier_release_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An upgrade must not open an empty memory without a word."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    open_storage("file:").save(Scope("ada"), MemoryDocument())
    monkeypatch.setenv("LANGSERVE_GRAPHS", "{}")
    monkeypatch.setenv("DATABASE_URI", DATABASE)
    load.warn_of_files.cache_clear()

    load_settings()
    load_settings()

    assert caplog.text.count(f"those in {tmp_path / 'memgraph'} are not read") == 1


def test_unknown_variables_with_the_prefix_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Memgraph database uses the same prefix."""
    monkeypatch.setenv("MEMGRAPH_BOLT_PORT", "7687")

    assert load_settings() == Settings()


def test_an_empty_variable_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_MAX_FACTS", "")

    assert load_settings().max_facts == 2_000


def test_a_list_or_a_mapping_in_a_variable_is_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container has no file: its users' tokens come by a variable."""
    monkeypatch.setenv("MEMGRAPH_API_TOKENS", '{"ada": "a-secret-of-ada-0001"}')
    monkeypatch.setenv("MEMGRAPH_ALLOWED_MODELS", '["openai:gpt-4.1-mini"]')

    settings = load_settings()

    assert settings.api_tokens["ada"].get_secret_value() == "a-secret-of-ada-0001"
    assert settings.allowed_models == ("openai:gpt-4.1-mini",)


@pytest.mark.parametrize("text", ['{"ada": "a-secret-of-ada-0001"', '["a-secret-of-ada-0001"]', "ada"])
def test_what_a_variable_of_tokens_has_is_not_in_the_error(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_API_TOKENS", text)

    with pytest.raises(ConfigError, match=r"MEMGRAPH_API_TOKENS is '\*\*\*', but must be user ids"):
        load_settings()


def test_a_list_under_memory_is_read_as_memories(file: Path) -> None:
    file.write_text("memory: [{name: notes, type: simple}]\nattachments: {answer: [{name: notes}]}")

    settings = load_settings()

    assert settings.memories == ({"name": "notes", "type": "simple"},)
    assert settings.attachments == {"answer": [{"name": "notes"}]}


@pytest.mark.parametrize("text", ["", "memory:", "memories:"])
def test_an_empty_file_or_section_changes_nothing_but_empty_memories_are_an_error(file: Path, text: str) -> None:
    file.write_text(text)

    if text == "memories:":
        with pytest.raises(ConfigError):
            load_settings()
    else:
        assert load_settings() == Settings()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("memory: {max_fact: 5}", "memgraph.yaml: memory.max_fact is unknown; did you mean max_facts?"),
        ("max_facts: 5", "memgraph.yaml: max_facts is unknown; did you mean memory.max_facts?"),
        ("memmory: {}", "memgraph.yaml: memmory is unknown; did you mean memory?"),
        ("1: 2", "memgraph.yaml: 1 is unknown; there are: memory, memories, attachments"),
        (
            "memory: {max_facts: 5}",
            "memgraph.yaml: memory.max_facts is 5, but must be a whole number from 10 to 50000",
        ),
        ("memory: {max_facts: true}", "memory.max_facts is True, but must be a whole number"),
        ("memory: {max_facts: 12.5}", "memory.max_facts is 12.5, but must be a whole number"),
        ("memory: {max_facts: many}", "memory.max_facts is 'many', but must be a whole number"),
        ("memory: {similarity_weight: .nan}", "memory.similarity_weight is nan, but must be a number from 0 to 1"),
        ("memory: {enabled: maybe}", "memory.enabled is 'maybe', but must be true or false"),
        ("memory: {model_name: 3}", "memory.model_name is 3, but must be a text"),
        ("memory: {prompt_language: fr}", "is 'fr', but must be auto or en or zh"),
        (
            "memory: {timezone: Lisboa}",
            "is 'Lisboa', but must be a time zone of the IANA database, such as Europe/Lisbon",
        ),
        ("memory: {review: sometimes}", "is 'sometimes', but must be never or corrections or always"),
        ("memory: {memories: []}", "memory.memories is unknown"),
        ("memory: 5", "memory is 5, but must be keys and their values"),
        ("- a", "memgraph.yaml is ['a'], but must be keys and their values"),
        ("memory: [{}]\nmemories: [{}]", "listed twice"),
        ("memory: {", "memgraph.yaml is not valid YAML at line 1"),
        ("[" * 5_000, "memgraph.yaml is not valid YAML"),
        ("memories: &a [*a]", "nested too deep"),
        ("a: 2024-99-99", "memgraph.yaml is not valid YAML"),
    ],
)
def test_an_invalid_file_is_an_error_that_names_the_key_and_what_is_allowed(
    file: Path, text: str, message: str
) -> None:
    assert message in config_error(file, text)


def test_an_invalid_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_MAX_FACTS", "5")

    with pytest.raises(ConfigError, match="MEMGRAPH_MAX_FACTS is '5', but must be a whole number from 10 to 50000"):
        load_settings()


def test_the_error_for_an_unknown_argument_suggests_the_nearest() -> None:
    with pytest.raises(ConfigError, match="max_fact is unknown; did you mean max_facts"):
        load_settings(max_fact=1)


def test_errors_quote_the_variable_and_not_its_value(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "hush")

    message = config_error(file, "memory: {max_facts: '${SECRET}'}")

    assert "hush" not in message
    assert "'${SECRET}'" in message


def test_settings_contain_the_policy() -> None:
    settings = load_settings(max_facts=20, debounce_seconds=0)

    assert settings.policy == Policy(max_facts=20)


def test_make_storage_opens_the_configured_storage(tmp_path: Path) -> None:
    assert make_storage(load_settings(storage_path=tmp_path)).name == f"file:{tmp_path}"
    assert make_storage(load_settings(storage_path="sqlite:x.db")).name == f"sqlite:{tmp_path / 'x.db'}"


def test_a_storage_class_that_cannot_be_loaded_falls_back_to_files_unless_disabled(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"storage_path": tmp_path, "storage_class": "no.such.Storage"}

    assert make_storage(load_settings(**settings)).name == f"file:{tmp_path}"
    assert "no.such.Storage" in caplog.text
    with pytest.raises(ConfigError, match=r"no\.such\.Storage"):
        make_storage(load_settings(**settings, storage_fallback=False))


def test_make_context_takes_over_the_settings(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("Answer with user, history and newFacts.")

    context = make_context(load_settings(max_facts=20, prompt_path="prompt.txt", storage_path="memory:"))

    assert context.policy == Policy(max_facts=20)
    assert (context.model, context.prompt) == ("offline", "Answer with user, history and newFacts.")
    assert (context.user_id, context.structured_output) == (None, "auto")


def test_make_context_takes_over_what_runs_over_http_may_choose(tmp_path: Path) -> None:
    """Prompts are read at once, so that a missing file is found when the server starts."""
    (tmp_path / "pets.txt").write_text("Answer with user, history and newFacts.")
    (tmp_path / "memgraph.yaml").write_text(
        "memory: {storage_path: 'memory:', allowed_models: ['openai:small'], allowed_prompts: {pets: pets.txt},"
        " allowed_storages: {archive: 'sqlite:old.db'}}"
    )

    allowed = make_context(load_settings()).allowed

    assert allowed == AllowedChoices(
        ("openai:small",), {"pets": "Answer with user, history and newFacts."}, {"archive": "sqlite:old.db"}
    )
    with pytest.raises(ConfigError, match=r"allowed_prompts\.pets nowhere\.txt cannot be read"):
        make_context(load_settings(allowed_prompts={"pets": "nowhere.txt"}))
    with pytest.raises(ConfigError, match="allowed_models is 5, but must be a list of texts"):
        load_settings(allowed_models=5)


def test_the_error_for_an_unreadable_prompt_names_the_file() -> None:
    with pytest.raises(ConfigError, match=r"prompt_path nowhere\.txt cannot be read"):
        make_context(load_settings(prompt_path="nowhere.txt"))


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_has_a_description(name: str) -> None:
    """Forms, the template of memgraph.yaml and readers of the source show it."""
    sources = [Path(__file__).parents[1] / "memgraph" / file for file in ("settings.py", "policy.py")]
    lines = "\n".join(source.read_text() for source in sources).splitlines()
    index = next(number for number, line in enumerate(lines) if line.startswith(f"    {name}: "))

    assert any(line.startswith('    """') for line in lines[index + 1 : index + 3])
