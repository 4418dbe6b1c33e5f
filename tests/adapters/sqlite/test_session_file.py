"""The file of cached sessions that earlier releases left beside the table."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_memory_server import Scope, Settings, open_memory
from mcp_memory_server.adapters.sqlite.files.session_file import APPLICATION_ID, FILE_NAME

pytestmark = pytest.mark.anyio


def make_file(path: Path, application_id: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            f"PRAGMA journal_mode = WAL; PRAGMA application_id = {application_id}; CREATE TABLE turns (text TEXT);"
        )


async def open_and_close(folder: Path) -> None:
    async with open_memory(Settings(table=f"sqlite://{folder}/memory.db")):
        pass


async def test_the_session_file_of_an_earlier_release_is_deleted(tmp_path: Path) -> None:
    make_file(tmp_path / FILE_NAME, APPLICATION_ID)

    await open_and_close(tmp_path)

    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(FILE_NAME)] == []


async def test_a_file_of_another_program_under_this_name_is_left_alone(tmp_path: Path) -> None:
    make_file(tmp_path / FILE_NAME, 1)

    await open_and_close(tmp_path)

    assert (tmp_path / FILE_NAME).exists()


async def test_the_address_of_a_session_file_is_still_accepted_and_means_none(tmp_path: Path) -> None:
    settings = Settings(table=f"sqlite://{tmp_path}/memory.db", sessions=f"sqlite://{tmp_path}/sessions.db")

    async with open_memory(settings) as memory:
        await memory.conversations.load(Scope("ana", "chat"))

    assert not (tmp_path / FILE_NAME).exists()
