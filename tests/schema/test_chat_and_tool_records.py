"""Chats and tool calls of any release can be decoded: missing attributes have defaults, damaged items are reported."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mcp_memory_server.domain.conversations.chat_lifecycle import Chat, begun, ended
from mcp_memory_server.domain.conversations.tool_log import ToolStatus, observed
from mcp_memory_server.domain.kernel.items import Item, Key
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import moment_of
from mcp_memory_server.errors import InvalidRequestError, TableDamagedError
from mcp_memory_server.schema.chat_records import chat_body, chat_from, chat_key, last_chat_id, no_chat_body
from mcp_memory_server.schema.tool_records import tool_call_from, tool_call_put
from tests.domain.samples import DAY, NOON

ANNA = Scope("anna", "s#1")
ULID = "01JNB3X8M0ABCDEFGHJKMNPQRS"


def item(sk: str, body: dict[str, Any], pk: str = "USER#anna") -> Item:
    return Item(Key(pk, sk), body, 1)


@pytest.mark.parametrize("chat", [Chat(ULID, "a#b", NOON), Chat(ULID, "travel", NOON, "1.2", "Rome", NOON + DAY)])
def test_a_chat_is_decoded_as_it_was_encoded(chat: Chat) -> None:
    key = chat_key(ANNA, chat)

    assert chat_from(Item(key, chat_body(ANNA, chat), 1)) == chat


def test_chats_of_the_first_release_can_be_read() -> None:
    body = {"id": ULID, "created_at": "2026-03-01T12:00:00.000000Z", "agent_version": "2", "title": "Rome",
            "ix_pk": f"CHAT#anna#{ULID}", "ix_sk": "CHAT", "begun_by": "x", "of_a_later_release": [1]}  # fmt: skip

    active = chat_from(item("#ACTIVE#travel%231", body))
    past = chat_from(item(f"CHAT#travel%231#{ULID}", {**body, "deleted_at": "2026-03-02T12:00:00.000000Z"}))

    assert active == Chat(ULID, "travel#1", NOON, "2", "Rome")
    assert past == Chat(ULID, "travel#1", NOON, "2", "Rome", NOON + DAY)


def test_a_missing_attribute_of_a_chat_has_a_default() -> None:
    made = moment_of(ULID)

    assert chat_from(item("#ACTIVE#travel", {"id": ULID, "created_at": 7})) == Chat(ULID, "travel", made)
    assert chat_from(item(f"CHAT#travel#{ULID}", {})) == Chat(ULID, "travel", made, deleted_at=made)


def test_the_item_of_no_active_chat_holds_only_the_id_of_the_last() -> None:
    over = ended(begun("travel", NOON, after=None), NOON + DAY)
    place = item("#ACTIVE#travel", no_chat_body(over))

    assert chat_from(place) is None
    assert last_chat_id(place) == over.id
    assert begun("travel", NOON - DAY, after=last_chat_id(place)).id > over.id


@pytest.mark.parametrize(
    ("sk", "body"), [("#ACTIVE#a", {"id": "?"}), ("#ACTIVE#a", {"id": 1}), ("CHAT#a#x", {}), ("CHAT#a", {})]
)
def test_an_item_without_a_valid_chat_is_reported_as_damaged(sk: str, body: dict[str, Any]) -> None:
    with pytest.raises(TableDamagedError):
        chat_from(item(sk, body))


def test_a_chat_never_ends_before_it_began() -> None:
    assert ended(Chat(ULID, "travel", NOON), NOON - DAY).deleted_at == NOON


def test_a_chat_needs_an_id_that_sorts_by_time() -> None:
    with pytest.raises(InvalidRequestError, match="ULID"):
        Chat("7", "travel", NOON)


def test_a_tool_call_is_decoded_as_it_was_encoded_and_expires_after_thirty_days() -> None:
    call = observed(
        ULID,
        "search",
        {"query": "東京", "": [None, 1.5]},
        "found",
        status=ToolStatus.ERROR,
        duration=timedelta(milliseconds=3.25),
        at=NOON,
        session_id="s#1",
    )
    put = tool_call_put(ANNA, call)

    assert tool_call_from(Item(put.key, put.body, 1)) == call
    assert (put.key, put.expires_at) == (Key("TOOLS#anna", ULID), NOON + timedelta(days=30))
    assert (put.body["ix_pk"], put.body["ix_sk"]) == ("TOOLS#anna#s%231", ULID)


@pytest.mark.parametrize("inputs", [None, "", "no json", "[1]", 7])
def test_a_missing_attribute_of_a_tool_call_has_a_default(inputs: object) -> None:
    call = tool_call_from(item(ULID, {"inputs": inputs, "status": "of a later release", "at": "?"}, pk="TOOLS#anna"))

    assert (call.inputs, call.status, call.output, call.duration) == ({}, ToolStatus.OK, "", timedelta(0))
    assert call.at == moment_of(ULID) > datetime(2025, 1, 1, tzinfo=UTC)


def test_an_item_without_a_valid_tool_call_is_reported_as_damaged() -> None:
    with pytest.raises(TableDamagedError):
        tool_call_from(item("x", {"name": "search"}, pk="TOOLS#anna"))
