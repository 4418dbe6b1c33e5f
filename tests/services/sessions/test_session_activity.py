"""A process finds its own writes without reading every session again."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta

from mcp_memory_server.domain.kernel.ulids import first_ulid_of
from mcp_memory_server.domain.recall.turn_memories import from_turn
from mcp_memory_server.domain.sessions.turns import Role, Turn
from mcp_memory_server.schema.user_versions import SessionActivity
from mcp_memory_server.services.conversations.past_turns import FoundTurn, SessionTurns, TurnPlace
from mcp_memory_server.services.recall.followed_sessions import POLLED_FOR, FollowedSessions
from mcp_memory_server.services.sessions.session_activity import LocalWrites

FORK = """
import os
from mcp_memory_server.services.sessions.session_activity import LocalWrites
own = LocalWrites()
before = own.writer
if os.fork():
    os.wait()
    assert own.writer == before
print(own.writer, flush=True)
"""
NOW = datetime(2026, 4, 1, 12, tzinfo=UTC)


def followed(*, is_settled: bool) -> FollowedSessions:
    """Sessions with activity of this process in one and of another process in the other."""
    sessions = FollowedSessions("here")
    activities = [
        SessionActivity("ours", "here", "", is_over=False),
        SessionActivity("theirs", "there", "", is_over=False),
    ]
    sessions.record_activity(activities, NOW, is_settled=is_settled)
    return sessions


def read(session_id: str, at: datetime = NOW) -> SessionTurns:
    turn = Turn(first_ulid_of(at), Role.USER, "something")
    found = FoundTurn(TurnPlace(session_id, turn.id), from_turn(session_id, turn, None), 1)
    return SessionTurns((found,), 0, frozenset([turn.id]))


def test_only_sessions_that_others_may_write_to_are_read_again() -> None:
    sessions = followed(is_settled=True)
    for session_id in ("ours", "theirs"):
        sessions.record_read(session_id, read(session_id), NOW)

    assert sessions.to_read(NOW) == ["theirs"]


def test_a_session_with_possibly_unknown_writers_is_read_again() -> None:
    sessions = followed(is_settled=False)
    sessions.record_read("ours", read("ours"), NOW)

    assert sessions.to_read(NOW) == ["ours", "theirs"]
    assert sessions.to_read(NOW + POLLED_FOR) == ["theirs"]


def test_after_published_activity_was_lost_every_session_is_read_again() -> None:
    sessions = followed(is_settled=True)
    sessions.distrust_activity()
    sessions.record_read("ours", read("ours"), NOW)

    assert sessions.to_read(NOW) == ["ours", "theirs"]


def test_own_writes_are_read_from_the_first_new_turn_on() -> None:
    sessions = followed(is_settled=True)
    sessions.record_read("ours", read("ours"), NOW)
    early = first_ulid_of(datetime(2026, 3, 1, tzinfo=UTC))
    sessions.record_own_writes({"ours": early}, is_settled=True)

    assert sessions.to_read(NOW) == ["ours", "theirs"]
    assert sessions.cursor("ours").start() == early
    sessions.record_read("ours", read("ours"), NOW)
    assert sessions.to_read(NOW) == ["theirs"]


def test_turns_that_another_process_wrote_meanwhile_are_read_although_it_is_done() -> None:
    sessions = followed(is_settled=True)
    sessions.record_read("ours", read("ours"), NOW)
    visit = [SessionActivity("ours", "there", "", is_over=False), SessionActivity("ours", "there", "", is_over=True)]
    sessions.record_activity(visit, NOW, is_settled=True)
    sessions.record_own_writes({"ours": first_ulid_of(NOW + timedelta(minutes=1))}, is_settled=True)

    assert sessions.cursor("ours").start() < first_ulid_of(NOW)


def test_a_process_that_was_forked_has_a_name_of_its_own() -> None:
    printed = subprocess.run([sys.executable, "-c", FORK], check=True, capture_output=True, text=True).stdout

    assert len(set(printed.split())) == 2


def test_turns_are_noted_for_those_who_are_watched_and_taken_once() -> None:
    own = LocalWrites()
    own.add("ana", "s", "01")
    own.watch("ana")
    for session_id, turn_id in (("s", "03"), ("s", "02"), ("t", "04")):
        own.add("ana", session_id, turn_id)

    assert own.has_any("ana")
    assert own.take("ana") == {"s": "02", "t": "04"}
    assert not own.has_any("ana")
    own.unwatch("ana")
    own.add("ana", "s", "05")
    assert own.take("ana") == {}
