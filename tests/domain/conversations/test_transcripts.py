"""A transcript is parsed line by line, and an invalid line is reported with its number."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from mcp_memory_server.domain.conversations.transcripts import transcript_from
from mcp_memory_server.domain.sessions.turns import NewTurn, Role
from mcp_memory_server.errors import InvalidRequestError

GINA = {"session": 1, "id": "D1:3", "speaker": "Gina", "date": "2023-05-08T13:56", "text": "I lost my job."}


def line(**changed: Any) -> str:
    return json.dumps({name: value for name, value in {**GINA, **changed}.items() if value is not None})


def test_a_line_is_a_turn_with_its_speaker_its_time_and_its_id() -> None:
    (one,) = transcript_from([line()])

    moment = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert one.session_id == "1"
    assert one.turn == NewTurn(Role.USER, "I lost my job.", speaker="Gina", said_at=moment, source_id="D1:3")


@pytest.mark.parametrize("speaker", list(Role))
def test_a_speaker_that_is_a_role_is_that_role(speaker: Role) -> None:
    (one,) = transcript_from([line(speaker=speaker.value)])

    assert (one.turn.role, one.turn.speaker) == (speaker, None)


def test_reading_the_same_lines_twice_gives_the_same_operations_and_no_two_lines_share_one() -> None:
    lines = [line(), line(id=None), line(id=None), line(session=2), "", line(id="D1:4")]

    first = [one.operation_id for one in transcript_from(lines)]

    assert first == [one.operation_id for one in transcript_from(lines)]
    assert len(set(first)) == 5


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("no json", "not JSON"),
        ("[1]", "must be an object"),
        (line(session=None), '"session" must name'),
        (line(session=" "), '"session" must name'),
        (line(text=None), '"text" must hold'),
        (line(text=7), '"text" must hold'),
        (line(date="yesterday"), '"date" must look like'),
        (line(role="oracle"), '"role" must be one of user, assistant, tool, system'),
        (line(mood="fine"), "'mood' is not known"),
        (line(speaker=["Gina"]), '"speaker" must be text'),
    ],
)
def test_a_line_that_is_wrong_is_named_with_what_would_be_right(wrong: str, told: str) -> None:
    with pytest.raises(InvalidRequestError, match="line 2") as raised:
        transcript_from([line(), wrong])

    assert told in str(raised.value)
    assert "Nothing was imported" in str(raised.value)
