"""Agents with memories beside the user's own: their host names them when it makes the plugin."""

from typing import Any

import pytest

from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.strands import MemoryPlugin
from examples.scripted_model import call
from mcp_memory_server import InvalidRequestError, Memory, Owner, Owners, Scope, Statement
from tests.plugins.strands.conftest import Ask, agent_with, model_of


def test_what_one_agent_learns_is_not_shown_to_another_and_shared_knowledge_to_both(
    shared: SharedMemory, ask: Ask[Any]
) -> None:
    async def fill(memory: Memory) -> None:
        handbook = Scope("ana", remember_in=Owner.shared("handbook"))
        await memory.facts.learn(handbook, Statement("Flights are booked through the travel desk."))

    ask(fill)
    travel, sales = (
        MemoryPlugin(user_id="ana", memory=shared, owners=Owners(agent=name, shared=("handbook",)))
        for name in ("travel", "sales")
    )
    of_travel = agent_with(travel, call("remember_fact", fact="The voucher for flights is V-17."), "Noted.", "Sure.")
    of_sales = agent_with(sales, "Sure.")

    of_travel("Please remember the voucher for flights, V-17.")
    of_travel("Which voucher pays for flights?")
    of_sales("Which voucher pays for flights?")

    last_of_travel, of_other = model_of(of_travel).seen[-1].text, model_of(of_sales).seen[-1].text
    assert "travel desk. (shared)" in last_of_travel
    assert "travel desk. (shared)" in of_other
    assert "- The voucher for flights is V-17." not in of_other
    assert ask(lambda memory: memory.facts.all(Scope("ana"))) == []


def test_owners_of_a_wrong_type_are_refused_with_an_example() -> None:
    with pytest.raises(InvalidRequestError, match=r"owners must be Owners\(agent="):
        MemoryPlugin(user_id="ana", owners="acme")  # pyright: ignore[reportArgumentType]
