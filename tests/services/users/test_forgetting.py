"""A forgotten memory is removed with its history, and is not learned again from old text."""

from datetime import timedelta

import pytest

from mcp_memory_server.domain.facts.fact import Outcome, Source, Statement
from mcp_memory_server.domain.facts.notes import NoteKind
from mcp_memory_server.domain.kernel.items import Key, Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import ForgottenError, NotFoundError
from mcp_memory_server.memory import Memory
from mcp_memory_server.schema import keys
from mcp_memory_server.services.users.erasure import Forgotten
from mcp_memory_server.wiring import running
from tests.clock import FakeClock
from tests.services.watched_table import WatchedTable

pytestmark = pytest.mark.anyio

CITY = "personal/location/city"
BERN = Statement("Ana lives in Bern", topic=CITY)
BASEL = Statement("Ana lives in Basel", topic=CITY)


async def stored(memory: Memory, owner: Scope) -> list[str]:
    page = await memory.table.query(keys.user_partition(owner.user_id), limit=None)
    return [item.key.sk.partition("#")[0] for item in page.items]


async def test_a_forgotten_fact_leaves_only_a_tombstone(memory: Memory, anna: Scope) -> None:
    fact = (await memory.facts.learn(anna, BERN)).fact

    forgotten = await memory.erasure.forget(anna, fact.id)

    assert forgotten.removed == 1
    assert await stored(memory, anna) == ["GONE", "PROFILE"]
    assert await memory.facts.all(anna) == []


@pytest.mark.parametrize("source", [Source.INFERRED, Source.USER_STATED])
@pytest.mark.parametrize("topic", [None, CITY, "elsewhere"])
async def test_a_forgotten_statement_is_not_learned_again_from_text(
    memory: Memory, anna: Scope, source: Source, topic: str | None
) -> None:
    fact = (await memory.facts.learn(anna, BERN)).fact
    await memory.erasure.forget(anna, fact.id)

    with pytest.raises(ForgottenError, match="2026-03-01"):
        await memory.facts.learn(anna, Statement("ana lives in BERN.", topic=topic, source=source))

    assert await memory.facts.all(anna) == []


async def test_a_forgotten_statement_is_learned_again_when_the_user_confirms_it(memory: Memory, anna: Scope) -> None:
    fact = (await memory.facts.learn(anna, BERN)).fact
    await memory.erasure.forget(anna, fact.id)

    confirmed = await memory.facts.learn(anna, Statement(BERN.text, topic=CITY, source=Source.CONFIRMED))
    again = await memory.facts.learn(anna, BERN)

    assert (confirmed.outcome, again.outcome) == (Outcome.LEARNED, Outcome.SUPPORTED)
    assert "GONE" not in await stored(memory, anna)


async def test_old_text_is_refused_even_if_it_was_a_confirmation(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    fact = (await memory.facts.learn(anna, BERN)).fact
    said_at = clock()
    clock.advance(timedelta(days=1))
    await memory.erasure.forget(anna, fact.id)

    with pytest.raises(ForgottenError):
        await memory.facts.learn(anna, Statement(BERN.text, source=Source.CONFIRMED, said_at=said_at))


async def test_forgetting_a_fact_removes_its_history_and_its_candidates(memory: Memory, anna: Scope) -> None:
    for number in range(12):
        await memory.facts.learn(anna, Statement(f"Ana lives in Town{number}", topic=CITY))
    await memory.facts.learn(anna, Statement("Ana lives in Chur", topic=CITY, source=Source.INFERRED))
    await memory.facts.learn(anna, Statement("Has a cat", topic="pets"))
    current = (await memory.facts.all(anna, CITY))[0]

    forgotten = await memory.erasure.forget(anna, current.id)

    assert forgotten.removed == 13
    assert await memory.facts.history(anna, CITY) == []
    assert [fact.text for fact in await memory.facts.all(anna)] == ["Has a cat"]
    with pytest.raises(ForgottenError):
        await memory.facts.learn(anna, Statement("Ana lives in Town3", topic=CITY))


async def test_a_candidate_is_forgotten_without_the_fact_against_it(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, BERN)
    guess = await memory.facts.learn(anna, Statement(BASEL.text, topic=CITY, source=Source.INFERRED))

    await memory.erasure.forget(anna, guess.fact.id)

    assert [fact.text for fact in await memory.facts.all(anna)] == ["Ana lives in Bern"]


async def test_a_history_is_forgotten_whole_although_other_writes_are_in_the_way(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    for number in range(12):
        await memory.facts.learn(anna, Statement(f"Ana lives in Town{number}", topic=CITY))
    fact = (await memory.facts.all(anna, CITY))[0]
    watched = WatchedTable(memory.table)
    oldest = (await memory.facts.history(anna, CITY))[3]
    item = await memory.table.get(
        keys.past_fact_key(keys.fact_key(anna, oldest.fingerprint), oldest.valid_to or clock())
    )
    assert item is not None
    watched.before["write"] = lambda: memory.table.put(Put(item.key, item.body, item.version))

    async with running(watched.as_table, now=clock) as again:
        forgotten = await again.erasure.forget(anna, fact.id)

    assert forgotten.removed == 12
    assert await memory.facts.all(anna, past=True) == []


async def test_an_earlier_version_is_forgotten_by_its_id(memory: Memory, anna: Scope) -> None:
    old = (await memory.facts.learn(anna, BERN)).fact
    await memory.facts.learn(anna, BASEL)

    await memory.erasure.forget(anna, old.id)

    assert [fact.text for fact in await memory.facts.history(anna, CITY)] == ["Ana lives in Basel"]


async def test_a_statement_is_forgotten_with_all_its_duplicates(memory: Memory, anna: Scope) -> None:
    await memory.table.put(Put(keys.legacy_fact_key(anna, CITY), {"text": "Ana lives in Bern", "topic": CITY}))
    fact = (await memory.facts.learn(anna, Statement("Ana lives in Bern"))).fact

    forgotten = await memory.erasure.forget(anna, fact.id)

    assert forgotten == Forgotten(fact.id, "Ana lives in Bern", removed=2)
    assert await memory.facts.all(anna) == []


async def test_forgetting_returns_what_was_removed_and_how_many_earlier_versions(memory: Memory, anna: Scope) -> None:
    for text in ("Ana lives in Bern", "Ana lives in Basel", "Ana lives in Chur"):
        fact = (await memory.facts.learn(anna, Statement(text, topic=CITY))).fact

    forgotten = await memory.erasure.forget(anna, fact.id)

    assert forgotten == Forgotten(fact.id, "Ana lives in Chur", removed=3, earlier_versions=2)
    assert await memory.facts.all(anna, past=True) == []


async def test_other_facts_of_the_topic_are_not_forgotten(memory: Memory, anna: Scope) -> None:
    nuts = (await memory.facts.learn(anna, Statement("Is allergic to nuts", topic="health/allergies"))).fact
    await memory.facts.learn(anna, Statement("Is allergic to milk", topic="health/allergies"))

    await memory.erasure.forget(anna, nuts.id)

    assert [fact.text for fact in await memory.facts.all(anna)] == ["Is allergic to milk"]


async def test_a_fact_without_a_topic_is_forgotten_with_the_facts_it_superseded(memory: Memory, anna: Scope) -> None:
    cat = (await memory.facts.learn(anna, Statement("Has a cat"))).fact
    dog = (await memory.facts.learn(anna, Statement("Has a dog"), replaces=cat.id)).fact

    await memory.erasure.forget(anna, dog.id)

    assert await memory.facts.all(anna, past=True) == []
    with pytest.raises(ForgottenError):
        await memory.facts.learn(anna, Statement("Has a cat"))


async def test_a_preference_is_forgotten_and_may_be_set_again(memory: Memory, anna: Scope) -> None:
    await memory.preferences.set(anna, "tone#1", "brief")

    await memory.erasure.forget(anna, "pref:tone#1")
    left = await memory.preferences.all(anna)
    await memory.preferences.set(anna, "tone#1", "brief")

    assert left == []
    assert len(await memory.preferences.all(anna)) == 1


async def test_a_note_is_forgotten(memory: Memory, anna: Scope) -> None:
    note = await memory.notes.add(anna, NoteKind.FEEDBACK, "too long")
    await memory.notes.add(anna, NoteKind.FEEDBACK, "too short")

    await memory.erasure.forget(anna, note.id)

    assert [kept.text for kept in await memory.notes.all(anna)] == ["too short"]


async def test_an_unknown_memory_cannot_be_forgotten(memory: Memory, anna: Scope) -> None:
    fact = (await memory.facts.learn(anna, BERN)).fact

    for owner, memory_id in ((anna, "nonsense"), (Scope("ben"), fact.id)):
        with pytest.raises(NotFoundError, match="`recall` shows the ids"):
            await memory.erasure.forget(owner, memory_id)
    assert len(await memory.facts.all(anna)) == 1


async def test_an_unreadable_item_does_not_block_forgetting(memory: Memory, anna: Scope) -> None:
    await memory.table.put(Put(Key("USER#anna", "PAST#pets#2025"), {"damaged": True}))
    fact = (await memory.facts.learn(anna, BERN)).fact

    assert (await memory.erasure.forget(anna, fact.id)).removed == 1


async def test_a_correction_by_another_process_is_kept_and_the_old_fact_is_forgotten_as_history(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    fact = (await memory.facts.learn(anna, BERN)).fact
    watched = WatchedTable(memory.table)
    watched.before["write"] = lambda: memory.facts.learn(anna, BASEL)

    async with running(watched.as_table, now=clock) as again:
        await again.erasure.forget(anna, fact.id)

    assert [known.text for known in await memory.facts.history(anna, CITY)] == ["Ana lives in Basel"]
    with pytest.raises(ForgottenError):
        await memory.facts.learn(anna, BERN)


async def test_a_fact_that_another_process_moved_meanwhile_is_forgotten_too(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    fact = (await memory.facts.learn(anna, Statement("Has a cat"))).fact
    watched = WatchedTable(memory.table)
    watched.before["get_many"] = lambda: memory.facts.learn(anna, Statement("Has a dog"), replaces=fact.id)

    async with running(watched.as_table, now=clock) as again:
        await again.erasure.forget(anna, fact.id, everywhere=False)

    assert watched.before == {}
    assert await stored(memory, anna) == ["FACT", "GONE", "PROFILE"]
    assert [known.text for known in await memory.facts.all(anna)] == ["Has a dog"]


async def test_a_forgotten_user_leaves_nothing(memory: Memory, anna: Scope) -> None:
    fact = (await memory.facts.learn(anna, BERN)).fact
    await memory.facts.learn(anna, BASEL)
    await memory.erasure.forget(anna, fact.id)
    await memory.preferences.set(anna, "tone", "brief")
    await memory.notes.add(anna, NoteKind.FEEDBACK, "too long")
    await memory.facts.learn(Scope("ben"), BERN)

    removed = (await memory.erasure.forget_user(anna)).removed

    assert removed == 5
    assert await stored(memory, anna) == []
    assert (await memory.recall.search(anna, "Basel")).memories == ()
    assert len(await memory.facts.all(Scope("ben"))) == 1


async def test_a_forgotten_user_starts_anew(memory: Memory, anna: Scope) -> None:
    fact = (await memory.facts.learn(anna, BERN)).fact
    await memory.erasure.forget(anna, fact.id)
    await memory.erasure.forget_user(anna)

    assert (await memory.facts.learn(anna, BERN)).outcome is Outcome.LEARNED


async def test_forgetting_a_user_with_many_memories_reports_progress(memory: Memory, anna: Scope) -> None:
    lines = [f'{{"type":"entity","name":"n{number}","entityType":"t","observations":["o"]}}' for number in range(1200)]
    await memory.archive.import_(anna, lines)
    steps: list[int] = []

    removed = (await memory.erasure.forget_user(anna, steps.append)).removed

    assert (removed, steps) == (1201, [500, 1000, 1201])
