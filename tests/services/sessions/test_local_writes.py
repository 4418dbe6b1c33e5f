"""What a process writes itself is found without looking at every conversation again."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta

from mcp_memory_server.domain.kernel.ulids import first_ulid_of
from mcp_memory_server.domain.recall.turn_memories import from_turn
from mcp_memory_server.domain.sessions.turns import Role, Turn
from mcp_memory_server.schema.user_versions import SessionActivity
from mcp_memory_server.services.conversations.past_turns import FoundTurn, SessionTurns, TurnPlace
from mcp_memory_server.services.recall.user_index import POLLED_FOR, UserIndex
from mcp_memory_server.services.sessions.local_writes import LocalWrites
from mcp_memory_server.wiring.embeddings import new_search_index

FORK = """
import os
from mcp_memory_server.services.sessions.local_writes import LocalWrites
own = LocalWrites()
before = own.writer
if os.fork():
    os.wait()
    assert own.writer == before
print(own.writer, flush=True)
"""
NOW = datetime(2026, 4, 1, 12, tzinfo=UTC)


def followed(**known: bool) -> UserIndex:
    """An index that was told of a conversation by this process and of one by another."""
    searchable = UserIndex(new_search_index(), "here")
    talks = [SessionActivity("ours", "here", "", is_over=False), SessionActivity("theirs", "there", "", is_over=False)]
    searchable.follow(talks, NOW, **known)
    return searchable


def read(session_id: str, at: datetime = NOW) -> SessionTurns:
    turn = Turn(first_ulid_of(at), Role.USER, "something")
    found = FoundTurn(TurnPlace(session_id, turn.id), from_turn(session_id, turn, None), 1)
    return SessionTurns((found,), 0, frozenset([turn.id]))


def test_only_what_others_may_write_to_is_looked_at_again() -> None:
    searchable = followed(is_settled=True)
    for session_id in ("ours", "theirs"):
        searchable.has_read(session_id, read(session_id), NOW)

    assert searchable.to_read(NOW) == ["theirs"]


def test_a_conversation_of_which_not_all_writers_may_be_known_is_looked_at_again() -> None:
    searchable = followed(is_settled=False)
    searchable.has_read("ours", read("ours"), NOW)

    assert searchable.to_read(NOW) == ["ours", "theirs"]
    assert searchable.to_read(NOW + POLLED_FOR) == ["theirs"]


def test_after_announcements_were_lost_anybody_may_write_anywhere() -> None:
    searchable = followed(is_settled=True)
    searchable.doubt_activity()
    searchable.has_read("ours", read("ours"), NOW)

    assert searchable.to_read(NOW) == ["ours", "theirs"]


def test_what_is_written_here_is_read_from_its_first_turn_on() -> None:
    searchable = followed(is_settled=True)
    searchable.has_read("ours", read("ours"), NOW)
    early = first_ulid_of(datetime(2026, 3, 1, tzinfo=UTC))
    searchable.expect({"ours": early}, is_settled=True)

    assert searchable.to_read(NOW) == ["ours", "theirs"]
    assert searchable.sessions["ours"].start() == early
    searchable.has_read("ours", read("ours"), NOW)
    assert searchable.to_read(NOW) == ["theirs"]


def test_what_somebody_else_wrote_meanwhile_is_read_too_although_he_is_done() -> None:
    searchable = followed(is_settled=True)
    searchable.has_read("ours", read("ours"), NOW)
    visit = [SessionActivity("ours", "there", "", is_over=False), SessionActivity("ours", "there", "", is_over=True)]
    searchable.follow(visit, NOW, is_settled=True)
    searchable.expect({"ours": first_ulid_of(NOW + timedelta(minutes=1))}, is_settled=True)

    assert searchable.sessions["ours"].start() < first_ulid_of(NOW)


def test_a_process_that_was_forked_has_a_name_of_its_own() -> None:
    printed = subprocess.run([sys.executable, "-c", FORK], check=True, capture_output=True, text=True).stdout

    assert len(set(printed.split())) == 2


def test_turns_are_noted_for_those_who_are_watched_and_taken_once() -> None:
    own = LocalWrites()
    own.note("ana", "s", "01")
    own.watch("ana")
    for session_id, turn_id in (("s", "03"), ("s", "02"), ("t", "04")):
        own.note("ana", session_id, turn_id)

    assert own.are_there("ana")
    assert own.take("ana") == {"s": "02", "t": "04"}
    assert not own.are_there("ana")
    own.disconnect("ana")
    own.note("ana", "s", "05")
    assert own.take("ana") == {}
