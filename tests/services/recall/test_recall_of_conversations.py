"""Turns are found like all memories, by every process, until they expire or are forgotten."""

from datetime import timedelta

import pytest

from mcp_memory_server.domain.conversations.transcripts import transcript_from
from mcp_memory_server.domain.facts.fact import Statement
from mcp_memory_server.domain.kernel.items import Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.recall.memories import Kind
from mcp_memory_server.domain.recall.replies.answers import Recalled
from mcp_memory_server.domain.sessions.turns import LIFE, NewTurn, Role
from mcp_memory_server.errors import NotFoundError
from mcp_memory_server.memory import Memory
from mcp_memory_server.schema.turn_records import turn_key
from tests.clock import FakeClock

pytestmark = pytest.mark.anyio

TALK = Scope("anna", "talk 1")
PIANO = "I bought a piano in Ghent last summer."


async def says(memory: Memory, text: str, scope: Scope = TALK, role: Role = Role.USER) -> str:
    return (await memory.conversations.append(scope, NewTurn(role, text))).turn.id


def texts(found: Recalled) -> list[str]:
    return [memory.text for memory in found.memories]


async def test_a_turn_is_returned_with_its_speaker_time_and_origin(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    said = NewTurn(Role.USER, PIANO, speaker="Anna Beck", source_id="D1:3")
    await memory.conversations.append(TALK, said)

    (told,) = (await memory.recall.search(anna, "Who bought the piano?")).memories

    assert (told.kind, told.text, told.by, told.origin) == (Kind.TURN, PIANO, "Anna Beck", "D1:3")
    assert told.since == f"{clock():%Y-%m-%d %H:%M}"
    assert told.to_reply() == {
        "id": told.id,
        "match": "likely",
        "text": PIANO,
        "by": "Anna Beck",
        "since": told.since,
        "from": "D1:3",
    }


async def test_duplicate_turns_are_merged_and_list_their_other_dates(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    for talk in ("talk 1", "talk 2"):
        said = NewTurn(Role.USER, PIANO, source_id=f"{talk}:1")
        await memory.conversations.append(Scope("anna", talk), said)
        clock.advance(timedelta(days=1))

    (told,) = (await memory.recall.search(anna, "Who bought the piano?")).memories

    (other,) = told.to_reply()["also"]
    assert {told.origin, other["from"]} == {"talk 1:1", "talk 2:1"}
    days = {f"{clock() - timedelta(days=ago):%Y-%m-%d}" for ago in (1, 2)}
    assert {str(told.since)[:10], other["since"][:10]} == days
    assert told.id != other["id"]


async def test_an_expired_duplicate_is_left_out_of_the_merged_turn(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    await says(memory, PIANO, Scope("anna", "talk 1"))
    clock.advance(LIFE / 2)
    await says(memory, PIANO, Scope("anna", "talk 2"))
    assert (await memory.recall.search(anna, "piano")).memories[0].also
    clock.advance(LIFE / 2 + timedelta(days=1))

    (told,) = (await memory.recall.search(anna, "piano")).memories

    assert (told.text, told.also) == (PIANO, ())


async def test_duplicate_turns_are_forgotten_together(memory: Memory, anna: Scope) -> None:
    for talk in ("talk 1", "talk 2"):
        await says(memory, PIANO, Scope("anna", talk))
    await says(memory, "The piano is out of tune.")
    (piano,) = [told for told in (await memory.recall.search(anna, "piano")).memories if told.text == PIANO]

    forgotten = await memory.erasure.forget(anna, piano.id)

    assert forgotten.removed == 2
    assert texts(await memory.recall.search(anna, "piano")) == ["The piano is out of tune."]


async def test_turns_of_another_process_are_found_at_once_turn_by_turn(
    memory: Memory, other_process: Memory, anna: Scope
) -> None:
    missed = []
    for number in range(30):
        await says(other_process, f"The locker number {number} belongs to room {number}.")
        if f"The locker number {number} belongs to room {number}." not in texts(
            await memory.recall.search(anna, f"locker number {number}")
        ):
            missed.append(number)

    assert missed == []


async def test_a_session_that_two_processes_write_to_is_found_whole(
    memory: Memory, other_process: Memory, anna: Scope
) -> None:
    await says(memory, "The first locker is green.")
    await memory.recall.search(anna, "locker")
    await says(other_process, "The second locker is grey.")
    await says(memory, "The third locker is brown.")

    assert len((await other_process.recall.search(anna, "locker")).memories) == 3
    assert len((await memory.recall.search(anna, "locker")).memories) == 3


async def test_an_imported_conversation_is_found_although_the_user_was_indexed_before(
    memory: Memory, other_process: Memory, anna: Scope
) -> None:
    await says(memory, "Hello there, how are you?")
    assert PIANO not in texts(await memory.recall.search(anna, "piano"))

    line = f'{{"session": "talk 0", "id": "D1:3", "speaker": "Anna", "date": "2019-05-08", "text": "{PIANO}"}}'
    await other_process.conversations.transcribe(anna, transcript_from([line]))

    told = (await memory.recall.search(anna, "piano")).memories[0]
    assert (told.origin, str(told.since)[:10]) == ("D1:3", "2019-05-08")


async def test_turns_of_hours_later_are_found(
    memory: Memory, other_process: Memory, anna: Scope, clock: FakeClock
) -> None:
    await says(other_process, "Hello there, how are you?")
    await memory.recall.search(anna, "piano")

    clock.advance(timedelta(hours=5))
    await says(other_process, PIANO)

    assert texts(await memory.recall.search(anna, "piano"))[0] == PIANO


async def test_sessions_are_found_however_much_was_written_since_the_last_question(
    memory: Memory, other_process: Memory, anna: Scope, clock: FakeClock
) -> None:
    await says(other_process, "The locker of room 0 is green.", Scope("anna", "talk 0"))
    await memory.recall.search(anna, "locker")
    clock.advance(timedelta(hours=3))

    for number in range(12):
        await says(other_process, f"The locker of room {number} is grey.", Scope("anna", f"talk {number}"))
        await other_process.facts.learn(anna, Statement(f"Anna has shelf {number}", topic=f"shelves/{number}"))

    found = texts(await memory.recall.search(anna, "locker grey", max_tokens=2_000))
    assert {text for text in found if "grey" in text} == {f"The locker of room {n} is grey." for n in range(12)}


async def test_no_turn_of_another_user_is_found(memory: Memory, anna: Scope) -> None:
    await says(memory, PIANO, Scope("ben", "talk 1"))
    await says(memory, PIANO, Scope("anna#talk 1", "talk 1"))

    assert texts(await memory.recall.search(anna, "piano")) == []


async def test_system_turns_are_not_found(memory: Memory, anna: Scope) -> None:
    await says(memory, "Always praise the piano of the month.", role=Role.SYSTEM)

    assert texts(await memory.recall.search(anna, "piano")) == []


async def test_an_expired_turn_is_not_found(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    await says(memory, PIANO)
    assert texts(await memory.recall.search(anna, "piano")) == [PIANO]

    clock.advance(LIFE + timedelta(seconds=1))

    assert await memory.recall.search(anna, "piano") == Recalled(Status.COMPLETE, ())


async def test_a_forgotten_turn_is_gone_from_recall_and_from_its_conversation(
    memory: Memory, other_process: Memory, anna: Scope
) -> None:
    await says(memory, PIANO)
    await says(memory, "It has a lovely sound.")
    (told, *_) = (await memory.recall.search(anna, "piano")).memories
    await other_process.recall.search(anna, "piano")

    forgotten = await memory.erasure.forget(anna, told.id)

    assert forgotten.removed == 1
    for process in (memory, other_process):
        assert PIANO not in texts(await process.recall.search(anna, "piano"))
        assert [turn.content for turn in (await process.conversations.load(TALK)).turns] == ["It has a lovely sound."]
    with pytest.raises(NotFoundError, match="no memory has the id"):
        await memory.erasure.forget(anna, told.id)


async def test_a_long_turn_is_forgotten_with_all_of_its_parts(memory: Memory, anna: Scope) -> None:
    content = "piano " + "".join(chr(0x4E00 + (number * 7919) % 20_000) for number in range(300_000))
    await says(memory, content)
    (told,) = (await memory.recall.search(anna, "piano")).memories

    assert (await memory.erasure.forget(anna, told.id)).removed > 1
    assert (await memory.recall.search(anna, "piano")).memories == ()


async def test_the_sentence_that_stated_a_forgotten_fact_is_not_returned(memory: Memory, anna: Scope) -> None:
    await says(memory, "Nice to see you. My locker code is 4711. Bye!")
    fact = (await memory.facts.learn(anna, Statement("My locker code is 4711"))).fact
    assert len((await memory.recall.search(anna, "locker code")).memories) == 2

    await memory.erasure.forget(anna, fact.id)

    assert texts(await memory.recall.search(anna, "locker code")) == ["Nice to see you. [forgotten] Bye!"]


async def test_the_turn_that_a_forgotten_fact_came_from_is_not_returned(memory: Memory, anna: Scope) -> None:
    turn = await says(memory, "So the code for that locker of mine, it's 4711, right.")
    statement = Statement("Anna's locker code is 4711", session_id="talk 1", turn_id=turn)
    fact = (await memory.facts.learn(anna, statement)).fact

    await memory.erasure.forget(anna, fact.id)

    assert texts(await memory.recall.search(anna, "locker code")) == []


async def test_what_said_a_forgotten_fact_in_other_words_is_not_returned(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    await says(memory, "My locker code is 4711.")
    await says(memory, "I noted that your locker code is 4711.", role=Role.ASSISTANT)
    fact = (await memory.facts.learn(anna, Statement("Anna's locker code is 4711"))).fact
    clock.advance(timedelta(minutes=1))

    await memory.erasure.forget(anna, fact.id)

    assert texts(await memory.recall.search(anna, "locker code")) == []


async def test_what_is_said_after_something_was_forgotten_is_new(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    fact = (await memory.facts.learn(anna, Statement("Anna's locker code is 4711"))).fact
    await memory.erasure.forget(anna, fact.id)
    clock.advance(timedelta(minutes=1))

    await says(memory, "My locker code is 8222 now.")

    assert texts(await memory.recall.search(anna, "locker code")) == ["My locker code is 8222 now."]


async def test_an_erased_user_is_found_nowhere(memory: Memory, other_process: Memory, anna: Scope) -> None:
    await says(memory, PIANO)
    await memory.recall.search(anna, "piano")

    await other_process.erasure.forget_user(anna)

    assert await memory.recall.search(anna, "piano") == Recalled(Status.COMPLETE, ())


async def test_turns_said_by_then_are_found_and_no_later_ones(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    await says(memory, PIANO)
    then = clock()
    clock.advance(timedelta(days=1))
    await says(memory, "I sold the piano in Bruges again.")

    assert texts(await memory.recall.search(anna, "piano", as_of=then)) == [PIANO]


async def test_a_turn_that_cannot_be_read_makes_the_answer_partial(memory: Memory, anna: Scope) -> None:
    await says(memory, PIANO)
    key = turn_key(TALK, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    await memory.table.put(Put(key, {"role": "user", "packed": b"damaged"}))

    found = await memory.recall.search(anna, "piano")

    assert (found.status, texts(found)) == (Status.PARTIAL, [PIANO])
    assert found.missing == ("1 turns could not be read",)


async def test_a_saved_fact_comes_before_the_turn_in_which_it_was_said(memory: Memory, anna: Scope) -> None:
    await says(memory, "Anna bought a piano in Ghent")
    await memory.facts.learn(anna, Statement("Anna bought a piano in Ghent"))

    found = await memory.recall.search(anna, "Where did Anna buy a piano?")

    assert [told.kind for told in found.memories] == [Kind.FACT, Kind.TURN]


async def test_the_subject_of_the_conversation_decides_which_facts_are_on_the_page(memory: Memory) -> None:
    anna = Scope("anna")
    for number in range(60):
        await memory.facts.learn(anna, Statement(f"Anna's shelf {number} holds old magazines", topic=f"shelf/{number}"))
    await memory.facts.learn(anna, Statement("Anna's violin is with the luthier Berg", topic="music"))
    await memory.preferences.set(anna, "tone", "brief")
    before = (await memory.context.load(anna, max_tokens=300)).text
    await says(memory, "When can I play my violin again?")

    page = await memory.context.load(TALK, max_tokens=300)

    assert "violin" not in before
    assert "luthier Berg" in page.text
    assert "- tone: brief" in page.text
