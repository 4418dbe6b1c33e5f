"""An operation that is repeated is done once; two that share an id by accident are both done."""

import pytest

from mcp_memory_server.domain.facts.fact import Outcome, Source, Statement
from mcp_memory_server.domain.facts.notes import NoteKind
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.memory import Memory

pytestmark = pytest.mark.anyio

CITY = "personal/location/city"
BERN = Statement("Ana lives in Bern", topic=CITY)
BASEL = Statement("Ana lives in Basel", topic=CITY)


async def test_a_repeated_statement_is_learned_once_and_answered_alike(memory: Memory, anna: Scope) -> None:
    first = await memory.facts.learn(anna, BERN, operation_id="1")
    again = await memory.facts.learn(anna, BERN, operation_id="1")

    assert (again.outcome, again.fact) == (first.outcome, first.fact)
    assert [fact.support for fact in await memory.facts.all(anna)] == [1]


async def test_a_repeated_correction_leaves_one_version_in_history(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, BERN, operation_id="1")
    await memory.facts.learn(anna, BASEL, operation_id="2")
    again = await memory.facts.learn(anna, BASEL, operation_id="2")

    assert again.outcome is Outcome.SUPERSEDED
    assert [fact.text for fact in await memory.facts.history(anna, CITY)] == [BERN.text, BASEL.text]


async def test_a_repeated_inference_is_one_candidate(memory: Memory, anna: Scope) -> None:
    guess = Statement(BASEL.text, topic=CITY, source=Source.INFERRED)
    await memory.facts.learn(anna, BERN)
    await memory.facts.learn(anna, guess, operation_id="1")
    again = await memory.facts.learn(anna, guess, operation_id="1")

    assert (again.outcome, again.fact.support) == (Outcome.CANDIDATE, 1)


@pytest.mark.parametrize("topic", [None, "home"])
async def test_a_repeated_replacement_is_no_error(memory: Memory, anna: Scope, topic: str | None) -> None:
    old = (await memory.facts.learn(anna, Statement("Ana lives in Bern"))).fact
    new = Statement("Ana lives in Basel", topic=topic)
    first = await memory.facts.learn(anna, new, replaces=old.id, operation_id="1")
    again = await memory.facts.learn(anna, new, replaces=old.id, operation_id="1")

    assert (again.outcome, again.fact) == (first.outcome, first.fact)
    assert [fact.text for fact in await memory.facts.all(anna)] == ["Ana lives in Basel"]


async def test_a_late_repetition_does_not_undo_what_came_after_it(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, BERN, operation_id="1")
    await memory.facts.learn(anna, BASEL, operation_id="2")
    await memory.facts.learn(anna, BERN, operation_id="1")

    assert [fact.text for fact in await memory.facts.all(anna)] == [BASEL.text]


async def test_several_memories_may_be_saved_under_one_id(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, BERN, operation_id="turn-7")
    await memory.facts.learn(anna, Statement("Has a cat"), operation_id="turn-7")
    await memory.preferences.set(anna, "tone", "brief", operation_id="turn-7")
    await memory.notes.add(anna, NoteKind.FEEDBACK, "too long", operation_id="turn-7")
    await memory.notes.add(anna, NoteKind.PATTERN, "too long", operation_id="turn-7")

    context = await memory.context.load(anna)

    assert context.text.count("\n- ") == 5


async def test_a_repeated_note_is_one_note(memory: Memory, anna: Scope) -> None:
    first = await memory.notes.add(anna, NoteKind.FEEDBACK, "too long", operation_id="1")
    again = await memory.notes.add(anna, NoteKind.FEEDBACK, "too long", operation_id="1")

    assert [note.id for note in await memory.notes.all(anna)] == [first.id] == [again.id]


async def test_a_repeated_preference_holds(memory: Memory, anna: Scope) -> None:
    await memory.preferences.set(anna, "tone", "brief", operation_id="1")
    again = await memory.preferences.set(anna, "tone", "brief", operation_id="1")

    assert again.preference.value == "brief"
    assert len(await memory.preferences.all(anna)) == 1


async def test_the_same_id_of_two_owners_is_two_operations(memory: Memory, anna: Scope) -> None:
    for owner in (anna, Scope("ben")):
        await memory.facts.learn(owner, BERN, operation_id="1")

    assert len(await memory.facts.all(anna)) == len(await memory.facts.all(Scope("ben"))) == 1


@pytest.mark.parametrize("operation_id", ["", "o" * 129])
async def test_an_operation_id_that_is_none_is_refused(memory: Memory, anna: Scope, operation_id: str) -> None:
    with pytest.raises(InvalidRequestError, match="operation_id"):
        await memory.facts.learn(anna, BERN, operation_id=operation_id)
    with pytest.raises(InvalidRequestError, match="operation_id"):
        await memory.notes.add(anna, NoteKind.PATTERN, "x", operation_id=operation_id)
