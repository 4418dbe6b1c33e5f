from datetime import UTC, datetime

import pytest

from mcp_memory_server.domain.kernel.items import Item, Key
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import SharedState
from mcp_memory_server.errors import InvalidRequestError, TableDamagedError
from mcp_memory_server.schema.state_records import state_from, state_key, state_put

NOW = datetime(2026, 11, 18, tzinfo=UTC)
CHAT = Scope("ana#1", "chat/2")


@pytest.mark.parametrize("value", [None, {"slots": {"size": "L"}}, ["x" * 5000]], ids=["none", "short", "long"])
def test_a_state_is_decoded_as_it_was_encoded(value: object) -> None:
    put = state_put(CHAT, value, 3, NOW)

    assert state_from(Item(put.key, put.body, 4)) == SharedState(value, 4)
    assert put.expected_version == 3


def test_a_long_state_is_stored_compressed() -> None:
    (packed,) = [part for part in state_put(CHAT, ["x" * 5000], 0, NOW).body.values() if isinstance(part, bytes)]

    assert len(packed) < 100


def test_the_ids_of_a_state_are_encoded_in_its_key() -> None:
    assert state_key(CHAT) == Key("STATES#ana%231", "chat%2F2")


def test_a_state_belongs_to_a_session() -> None:
    with pytest.raises(InvalidRequestError, match="session"):
        state_key(Scope("ana"))


def test_a_state_that_cannot_be_unpacked_is_reported_as_damage() -> None:
    with pytest.raises(TableDamagedError):
        state_from(Item(state_key(CHAT), {"packed": b"not zlib"}, 1))
