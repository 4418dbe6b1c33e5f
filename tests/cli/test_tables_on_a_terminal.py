"""A table on a narrow terminal shows what was saved, and leaves out what matters less."""

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.commands import COMMAND, environment

FACT = "Ana Silva moved to Lisbon on 2026-03-02 and works as a paediatric nurse at the Santa Maria hospital."


def shown(table: Path, columns: int, *arguments: str) -> str:
    """Return what a command prints on a terminal of this width, without its colours."""
    return re.sub(r"\x1b\[\d+m", "", printed(table, columns, *arguments))


def printed(table: Path, columns: int, *arguments: str, **more: str) -> str:
    reader, writer = pty.openpty()
    variables = environment(MCP_MEMORY_TABLE=f"sqlite://{table}", MCP_MEMORY_USER="ana", COLUMNS=str(columns), **more)
    with subprocess.Popen([*COMMAND, *arguments], stdout=writer, stderr=subprocess.DEVNULL, env=variables) as process:
        os.close(writer)
        output = b""
        try:
            while part := os.read(reader, 4096):
                output += part
        except OSError:
            pass  # the terminal is closed with its last writer
        process.wait(timeout=60)
    os.close(reader)
    return output.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("terminal") / "memory.db"
    for more in (["--topic", "personal/location/city"], []):
        command = [*COMMAND, "remember", FACT if more else f"{FACT} She likes it.", *more]
        subprocess.run(
            command,
            env=environment(MCP_MEMORY_TABLE=f"sqlite://{file}", MCP_MEMORY_USER="ana"),
            check=True,
            capture_output=True,
            timeout=60,
        )
    return file


@pytest.mark.parametrize("arguments", [["facts"], ["facts", "--history"], ["recall", "Where does Ana live?"]])
def test_forty_characters_of_each_fact_fit_on_eighty_columns(table: Path, arguments: list[str]) -> None:
    lines = shown(table, 80, *arguments)

    assert lines.count(FACT[:40]) == 2
    assert max(map(len, lines.splitlines())) <= 80


def test_a_wide_terminal_shows_every_column_that_has_values(table: Path) -> None:
    headings = shown(table, 200, "facts").split("\n", maxsplit=1)[0].split()

    assert headings == ["id", "topic", "learned", "sure", "source", "fact"]


def test_headings_and_findings_are_coloured_unless_that_is_not_wanted(table: Path) -> None:
    assert printed(table, 80, "facts").startswith("\x1b[1m")
    assert "\x1b[32mok" in printed(table, 80, "doctor")
    assert "\x1b" not in printed(table, 80, "doctor", NO_COLOR="1")
