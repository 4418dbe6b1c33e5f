"""What an operator can type, and what is made of it."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from mcp_memory_server import ConfigurationError, Scope, Settings
from mcp_memory_server.addresses import DaxTable, DynamoDbTable, SqliteTable, parse_table
from mcp_memory_server.settings import read_settings


@pytest.mark.parametrize("text", ["sqlite:", "sqlite://", "sqlite:///"])
def test_without_a_path_the_file_is_in_the_users_data_folder(text: str) -> None:
    table = parse_table(text)

    assert isinstance(table, SqliteTable)
    assert (table.path.name, table.path.parent.name) == ("memory.db", "mcp-memory-server")
    assert table.path.is_relative_to(Path.home())


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("sqlite:///var/lib/memory.db", "/var/lib/memory.db"),
        ("sqlite:////var/lib/memory.db", "/var/lib/memory.db"),
        ("sqlite:/var/lib/memory.db", "/var/lib/memory.db"),
        ("sqlite:///var/my%20memory%23.db", "/var/my memory#.db"),
        ("sqlite:///~/memory.db", "~/memory.db"),
        ("sqlite:memory.db", "memory.db"),
    ],
)
def test_a_path_can_be_written_in_the_usual_ways(text: str, path: str) -> None:
    assert parse_table(text) == SqliteTable(Path(path).expanduser().absolute())


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("dynamodb://memory", DynamoDbTable("memory")),
        ("dynamodb://memory/", DynamoDbTable("memory")),
        ("dynamodb://memory?region=eu-west-1", DynamoDbTable("memory", "eu-west-1")),
        (
            "dynamodb://My_Memory.v2?region=eu-west-1&endpoint=http://localhost:8000",
            DynamoDbTable("My_Memory.v2", "eu-west-1", "http://localhost:8000"),
        ),
    ],
)
def test_a_dynamodb_table_has_a_name_and_perhaps_a_region_and_an_endpoint(text: str, table: DynamoDbTable) -> None:
    assert parse_table(text) == table


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("dax://cluster/memory", DaxTable("dax://cluster:8111", DynamoDbTable("memory"))),
        ("daxs://cluster/memory", DaxTable("daxs://cluster:9111", DynamoDbTable("memory"))),
        (
            "dax://my.dax.eu-west-1.amazonaws.com:8112/memory?region=eu-west-1&item_ttl=60&fresh=all",
            DaxTable("dax://my.dax.eu-west-1.amazonaws.com:8112", DynamoDbTable("memory", "eu-west-1"), 60, True),
        ),
    ],
)
def test_a_table_behind_dax_has_a_cluster_too(text: str, table: DaxTable) -> None:
    assert parse_table(text) == table


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "sqlite:///path/to/file or dynamodb://"),
        ("/var/lib/memory.db", "sqlite:///path/to/file"),
        ("mysql://user:secret@host/db", "begins with 'mysql'"),
        ("sqlite://var/lib/memory.db", "three slashes"),
        ("dynamodb://", "dynamodb://table?region=eu-west-1"),
        ("dynamodb:memory", "dynamodb://table?region=eu-west-1"),
        ("dynamodb://memory/other", "dynamodb://table?region=eu-west-1"),
        ("dynamodb://memory?regoin=eu-west-1", "'regoin' is not an option"),
        ("dynamodb://memory?region", "bad query field"),
        ("dax://cluster:8111", "dax://cluster:8111/table?region=eu-west-1"),
        ("daxs://user:secret@cluster/memory", "daxs://cluster:9111/table?region=eu-west-1"),
        ("dax://cluster/memory?ttl=60", "region, endpoint, item_ttl and fresh are"),
        ("dax://cluster/memory?item_ttl=a minute", "how many seconds"),
        ("dax://cluster/memory?fresh=yes", "own or all"),
    ],
)
def test_anything_else_is_refused_with_what_would_be_right(text: str, words: str) -> None:
    with pytest.raises(ValueError) as refused:
        parse_table(text)

    assert words in str(refused.value)
    assert "secret" not in str(refused.value)


def test_without_settings_it_is_the_account_and_the_default_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ana")

    settings = read_settings()

    assert (settings.table, settings.user, settings.log_level) == ("sqlite:", "ana", "WARNING")
    assert settings.scope() == Scope("ana")


def test_settings_come_from_the_environment_and_arguments_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_MEMORY_USER", "bo")
    monkeypatch.setenv("MCP_MEMORY_TABLE", "sqlite:///tmp/bo.db")

    assert read_settings().user == "bo"
    assert Settings(user="eve").user == "eve"
    assert Settings(user="eve").table == "sqlite:///tmp/bo.db"


def test_an_unknown_variable_is_an_error_and_not_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_MEMORY_USR", "bo")

    with pytest.raises(ConfigurationError, match=r"MCP_MEMORY_USR is not a setting; did you mean MCP_MEMORY_USER\?"):
        read_settings()


def test_an_unknown_argument_is_an_error() -> None:
    with pytest.raises(ValidationError, match="usr"):
        Settings(usr="bo")  # pyright: ignore[reportCallIssue]


def test_settings_cannot_be_changed() -> None:
    settings = Settings()

    with pytest.raises(ValidationError):
        settings.user = "eve"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("user", ["", "  ", "x" * 129])
def test_a_user_must_have_a_name(user: str) -> None:
    with pytest.raises(ConfigurationError, match="MCP_MEMORY_USER: user_id must be 1 to 128 bytes"):
        Settings(user=user).scope()
