"""A conversation that is given to a person: the packet for their system, and what agents do meanwhile."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_plugins.state.changes import (
    begin_task,
    fill_slot,
    finish_step,
    need_slot,
    return_to_agents,
    start_step,
    understand,
)
from agent_plugins.state.handoff_packet import HandoffPacket
from agent_plugins.state.phases import Phase
from agent_plugins.state.state_coordinator import StateCoordinator
from mcp_memory_server import (
    InvalidRequestError,
    Memory,
    NewTurn,
    Role,
    Scope,
    Settings,
    Status,
    UnavailableError,
    open_memory,
)
from tests.plugins.fake_monotonic import FakeMonotonic

pytestmark = pytest.mark.anyio

CHAT = Scope("ana", "chat-7")


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with open_memory(Settings(table=f"sqlite://{tmp_path}/memory.db")) as memory:
        yield memory


async def conversation(memory: Memory) -> StateCoordinator:
    clock = FakeMonotonic()
    clock.advance(1_800_000_000)
    for number in range(30):
        await memory.conversations.append(
            CHAT, NewTurn(Role.USER, f"My parcel {number} is lost, I am Ana from Lisbon.")
        )
        await memory.conversations.append(
            CHAT, NewTurn(Role.ASSISTANT, f"I look for parcel {number}.", speaker="parcels")
        )
    coordinator = StateCoordinator(memory, CHAT, now=clock)
    await coordinator.change(
        understand("find a parcel"),
        need_slot("street", question="Where do you live?"),
        need_slot("size", question="How large is it?", values=["small", "large"]),
        fill_slot("parcel", "P-29", confirmed=True),
        begin_task("find the parcel", now=clock()),
        start_step("track", "track", now=clock()),
        finish_step("track", "lost in Porto", now=clock()),
    )
    await coordinator.update_environment(tier="vip", store="Lisbon")
    return coordinator


async def test_the_packet_has_summary_open_questions_slots_and_the_last_turns(memory: Memory) -> None:
    packet = await (await conversation(memory)).escalate("two failed searches", to="claims", agent="parcels", turns=4)

    assert (packet.user_id, packet.session_id, packet.reason, packet.to, packet.by) == (
        "ana",
        "chat-7",
        "two failed searches",
        "claims",
        "parcels",
    )
    assert packet.at == "2027-01-15T08:00:00+00:00"
    assert packet.open_questions == ("Where do you live?", "How large is it?")
    assert packet.slots["parcel"] == {"value": "P-29", "state": "confirmed", "required": False}
    assert packet.slots["size"]["values"] == ["small", "large"]
    assert [turn["text"] for turn in packet.turns][-1] == "I look for parcel 29."
    assert [turn["speaker"] for turn in packet.turns] == ["user", "parcels"] * 2
    assert 'track: done: "lost in Porto"' in packet.summary
    assert "parcel 0" in packet.summary
    assert (packet.environment["tier"], packet.environment["store"]) == ("vip", "Lisbon")
    assert packet.status == "complete"


async def test_another_system_takes_the_packet_as_json(memory: Memory) -> None:
    packet = await (await conversation(memory)).escalate("a person was asked for")

    sent = json.dumps(packet.to_dict())

    taken = HandoffPacket.from_dict({**json.loads(sent), "of a later version": 1})
    assert json.dumps(taken.to_dict()) == sent
    assert "a person was asked for" in taken.to_text()
    assert "- parcels: I look for parcel 29." in taken.to_text()


@pytest.mark.parametrize("plain", [{}, {"format": "agent-handoff/2"}, {"format": "agent-handoff/1", "user_id": "ana"}])
def test_what_is_no_packet_is_refused(plain: dict[str, str]) -> None:
    with pytest.raises(InvalidRequestError, match="hand-off packet"):
        HandoffPacket.from_dict(plain)


async def test_agents_are_told_that_a_person_has_taken_over_until_they_get_it_back(memory: Memory) -> None:
    coordinator = await conversation(memory)
    assert await coordinator.handoff_packet() is None

    await coordinator.escalate("two failed searches", to="claims")
    other = StateCoordinator(memory, CHAT)
    await other.refresh()

    assert '- a person ("claims") has taken over ("two failed searches")' in other.to_agent_context()
    assert (await other.handoff_packet()) is not None
    saved = await other.change(return_to_agents("parcels"))
    assert (saved.state.conversation.phase, saved.state.conversation.handoff) == (Phase.SLOT_FILLING, None)
    assert "has taken over" not in other.to_agent_context()


async def test_a_memory_that_is_down_does_not_keep_a_user_from_a_person() -> None:
    async def down() -> Memory:
        raise UnavailableError("the table does not answer")

    packet = await StateCoordinator(down, CHAT).escalate("angry")

    assert (packet.reason, packet.turns, packet.status) == ("angry", (), Status.PARTIAL.value)
    assert "what was said so far" in packet.missing
