"""Wrong usage ends with 2 and one line that helps; --help helps more."""

import re
from pathlib import Path

import pytest

from mcp_memory_server import Settings, __version__
from tests.cli.commands import Run

COMMANDS = (
    *("serve", "attach", "detach", "doctor", "repair", "facts", "preferences", "recall", "remember", "end", "forget"),
    *("sessions", "turns", "chats", "tool-log", "export", "import", "sync", "completion"),
    *("forget-user", "hook", "token", "verify-isolation", "redrive", "fold", "tables"),
)

WRONG: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "a command with a slip": (["fact"], ("'fact'", "did you mean 'facts'?")),
    "an unknown command": (["zebra"], ("'zebra'", "choose from serve, attach")),
    "an unknown action": (["tables", "crate"], ("'crate'", "did you mean 'create'?")),
    "no action": (["tables"], ("ACTION",)),
    "an unknown option": (["facts", "--tabel", "x"], ("--tabel",)),
    "no fact": (["remember"], ("fact", "remember --help")),
    "no query": (["recall"], ("query",)),
    "no user": (["forget-user"], ("name",)),
    "no file": (["import"], ("file",)),
    "too many words": (["recall", "where", "does", "Ana", "live"], ("does Ana live",)),
    "an impossible port": (["serve", "--http", "--port", "70000"], ("--port", "0 to 65535", "'70000'")),
    "a port in words": (["serve", "--http", "--port", "http"], ("--port", "'http'")),
    "a confidence in words": (["remember", "x", "--confidence", "high"], ("--confidence", "'high'")),
    "more than certain": (["remember", "x", "--confidence", "2"], ("confidence", "at most 1", "2.0")),
    "an unknown source": (
        ["remember", "x", "--source", "god"],
        ("'god'", "user_stated, confirmed, imported, inferred"),
    ),
    "too little room": (["recall", "x", "--max-tokens", "1"], ("--max-tokens", "50 to 20,000")),
    "no date": (["recall", "x", "--as-of", "soon"], ("--as-of", "2026-03-02")),
    "a blank fact": (["remember", " "], ("fact", "blank")),
    "a key without a value": (["preferences", "tone"], ("'tone'", "preferences KEY VALUE")),
    "a fact to end without its id": (["end"], ("id", "end --help")),
    "a table of another kind": (["facts", "--table", "mysql://host"], ("--table", "sqlite:///path", "'mysql'")),
    "a nameless user": (["facts", "--user", ""], ("1 to 128 bytes",)),
}


@pytest.mark.usefixtures("empty_table")
@pytest.mark.parametrize(("arguments", "words"), WRONG.values(), ids=WRONG)
def test_wrong_usage_is_told_in_one_line(run: Run, arguments: list[str], words: tuple[str, ...]) -> None:
    refused = run(*arguments)

    (line,) = refused.err.splitlines()
    assert (refused.code, refused.out) == (2, "")
    assert line.startswith("mcp-memory-server")
    assert [word for word in words if word not in line] == []


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("MCP_MEMORY_TABEL", "sqlite:", ("MCP_MEMORY_TABEL is not a setting", "did you mean MCP_MEMORY_TABLE?")),
        ("MCP_MEMORY_COLOUR", "blue", ("MCP_MEMORY_COLOUR is not a setting", "MCP_MEMORY_USER")),
        ("MCP_MEMORY_TABLE", "postgres://x", ("MCP_MEMORY_TABLE", "sqlite:///path/to/file", "'postgres'")),
        ("MCP_MEMORY_TABLE", "dynamodb://", ("MCP_MEMORY_TABLE", "dynamodb://table?region=eu-west-1")),
        ("MCP_MEMORY_LOG_LEVEL", "loud", ("MCP_MEMORY_LOG_LEVEL", "'WARNING'")),
        ("MCP_MEMORY_USER", "", ("MCP_MEMORY_USER", "1 to 128 bytes")),
        ("MCP_MEMORY_USER", "x" * 129, ("MCP_MEMORY_USER", "1 to 128 bytes", "129")),
    ],
)
def test_a_wrong_setting_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv(name, value)

    refused = run("facts")

    (line,) = refused.err.splitlines()
    assert refused.code == 2
    assert [word for word in words if word not in line] == []


def test_help_names_every_setting(run: Run) -> None:
    helped = run("--help")

    named = set(re.findall(r"MCP_MEMORY_[A-Z_]+", helped.out))
    assert named == {f"MCP_MEMORY_{name.upper()}" for name in Settings.model_fields}


def test_the_help_of_a_command_keeps_capital_letters(run: Run) -> None:
    assert "Serve MCP clients over stdio, or over HTTP." in run("serve", "--help").out
    assert "Write everything of the user as JSON Lines." in run("export", "--help").out


def test_help_shows_every_command_and_how_to_attach_a_client(run: Run) -> None:
    helped = run("--help")

    assert (helped.code, helped.err) == (0, "")
    assert re.findall(r"^    ([a-z-]+)", helped.out, re.MULTILINE) == list(COMMANDS)
    assert "mcp-memory-server attach claude-desktop" in helped.out
    assert "MCP_MEMORY_TABLE" in helped.out


@pytest.mark.parametrize(
    "command", [*([name] for name in COMMANDS), *(["tables", name] for name in ("create", "describe", "delete"))]
)
def test_every_command_has_help(run: Run, command: list[str]) -> None:
    helped = run(*command, "--help")

    assert (helped.code, helped.err) == (0, "")
    assert helped.out.startswith(f"usage: mcp-memory-server {' '.join(command)}")
    assert len(helped.out.splitlines()) > 4


def test_the_version_is_told(run: Run) -> None:
    assert run("--version").out == f"mcp-memory-server {__version__}\n"


def test_a_failure_that_is_no_mistake_of_the_user_ends_with_the_id_of_the_call(run: Run, table: Path) -> None:
    table.write_bytes(b"this is no database " * 500)

    failed, again = run("facts"), run("facts")

    assert failed.code == 1
    assert re.search(r"\(call [0-9a-f]{8}\)\n$", failed.err)
    assert failed.err != again.err


def test_an_error_speaks_the_language_of_the_command_line(run: Run) -> None:
    forgotten = run("remember", "Ana dyes her hair.", "--json").json["id"]
    run("forget", forgotten)

    refused = run("remember", "Ana dyes her hair.")
    turned = run("remember", "Ana moved.", "--since", "2021", "--until", "2020")
    unknown = run("recall", "cats", "--topic", "nothing/here")
    no_date = run("recall", "cats", "--as-of", "never")

    assert "repeat the command with --source confirmed" in refused.err
    assert run("remember", "Ana dyes her hair.", "--source", "confirmed").code == 0
    assert "--until must not be before --since, got --since 2021 and --until 2020" in turned.err
    assert "Leave --topic out" in unknown.err
    assert no_date.err.startswith("mcp-memory-server: --as-of must be a date")
