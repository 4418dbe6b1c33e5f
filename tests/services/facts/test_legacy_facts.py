"""Facts that earlier releases stored under their topics keep their keys and behave like all others."""

from typing import Any

import pytest

from mcp_memory_server.domain.facts.fact import Fact, Outcome, Source, Standing, Statement
from mcp_memory_server.domain.kernel.items import Key, Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.memory import Memory
from mcp_memory_server.schema import keys
from mcp_memory_server.services.facts.facts import TOPIC

pytestmark = pytest.mark.anyio

CITY = "personal/location/city"
BASEL_ID, CHUR_ID, ROME_ID = "cz2wtm5bq0xv", "8zfhcv1tsmvb", "0ld1d0ld1d00"
NOON = "2025-01-02T03:04:05.000000Z"


async def put(memory: Memory, sk: str, text: str, **body: Any) -> None:
    item = {"text": text, "topic": CITY, "valid_from": "2024-06-02T03:04:05.000000Z", **body}
    await memory.table.put(Put(Key(keys.user_partition("anna"), sk), item))


@pytest.fixture
async def old(memory: Memory) -> Memory:
    """What release 0.1 left behind after three statements about one topic and a guess."""
    await put(memory, f"PAST#{CITY}#{NOON}", "Ana lives in Bern", id="0123456789ab", valid_to=NOON, standing="past")
    await put(memory, f"PAST#{CITY}#2025-06-02T03:04:05.000000Z", "Ana lives in Chur", id=CHUR_ID, valid_from=NOON)
    await put(memory, f"FACT#{CITY}", "Ana lives in Basel", id=BASEL_ID, valid_from="2025-06-02T03:04:05.000000Z")
    await put(memory, f"FACT?#{CITY}#{ROME_ID}", "Ana lives in Rome", id=ROME_ID, source="inferred")
    return memory


async def stored(memory: Memory) -> list[str]:
    page = await memory.table.query(keys.user_partition("anna"), limit=None)
    return [item.key.sk for item in page.items if item.key.sk != keys.PROFILE]


def texts(facts: list[Fact]) -> list[str]:
    return [fact.text for fact in facts]


async def test_they_are_read_with_their_history(old: Memory, anna: Scope) -> None:
    assert texts(await old.facts.all(anna)) == ["Ana lives in Basel", "Ana lives in Rome"]
    everything = ["Ana lives in Bern", "Ana lives in Chur", "Ana lives in Basel"]
    assert texts(await old.facts.history(anna, CITY.upper())) == everything
    assert texts(await old.facts.history_of(anna, BASEL_ID)) == everything


async def test_saying_it_again_supports_it_where_it_is(old: Memory, anna: Scope) -> None:
    before = await stored(old)

    for topic in (CITY, CITY.upper(), "home", None):
        again = await old.facts.learn(anna, Statement("ana lives in BASEL.", topic=topic, source=Source.CONFIRMED))
        if topic is not None:
            assert (again.outcome, again.fact.id) == (Outcome.SUPPORTED, BASEL_ID)

    (basel, _) = await old.facts.all(anna)
    assert (basel.topic, basel.support) == (CITY, 5)
    assert [sk for sk in before if sk not in await stored(old)] == []


async def test_another_value_supersedes_it_and_its_history_stays_together(old: Memory, anna: Scope) -> None:
    new = await old.facts.learn(anna, Statement("Ana lives in Thun", topic=CITY))

    assert [fact.text for fact in new.superseded] == ["Ana lives in Basel"]
    assert texts(await old.facts.all(anna)) == ["Ana lives in Thun", "Ana lives in Rome"]
    assert texts(await old.facts.history(anna, CITY))[-2:] == ["Ana lives in Basel", "Ana lives in Thun"]
    assert texts(await old.facts.history_of(anna, new.fact.id)) == texts(await old.facts.history(anna, CITY))


@pytest.mark.parametrize("replaces", [TOPIC, BASEL_ID])
async def test_it_is_replaced_by_its_id_or_its_topic(old: Memory, anna: Scope, replaces: str) -> None:
    await old.facts.learn(anna, Statement("Has no home", topic=CITY), replaces=replaces)

    assert texts(await old.facts.all(anna)) == ["Has no home", "Ana lives in Rome"]


async def test_it_is_forgotten_with_all_its_versions(old: Memory, anna: Scope) -> None:
    forgotten = await old.erasure.forget(anna, BASEL_ID)

    assert (forgotten.text, forgotten.earlier_versions) == ("Ana lives in Basel", 2)
    assert [sk for sk in await stored(old) if not sk.startswith(keys.FORGOTTEN)] == []


async def test_its_versions_are_forgotten_with_what_superseded_it(old: Memory, anna: Scope) -> None:
    new = await old.facts.learn(anna, Statement("Ana lives in Thun", topic=CITY))

    assert (await old.erasure.forget(anna, new.fact.id)).earlier_versions == 3


async def test_it_ends_where_it_is(old: Memory, anna: Scope) -> None:
    ended = await old.facts.end(anna, BASEL_ID)

    assert ended.standing is Standing.PAST
    assert texts(await old.facts.all(anna)) == ["Ana lives in Rome"]
    assert texts(await old.facts.history(anna, CITY)) == [
        "Ana lives in Bern",
        "Ana lives in Chur",
        "Ana lives in Basel",
    ]
    assert [sk for sk in await stored(old) if "~" in sk] == []


async def test_a_candidate_of_an_earlier_release_is_promoted_to_a_new_key(old: Memory, anna: Scope) -> None:
    said = await old.facts.learn(anna, Statement("Ana lives in Rome", topic=CITY))

    assert (said.outcome, said.fact.support) == (Outcome.SUPERSEDED, 2)
    assert texts(await old.facts.all(anna)) == ["Ana lives in Rome"]


@pytest.mark.parametrize("topic", ["home", "東京", "~home", "Ü/ber"])
async def test_one_under_any_topic_is_found_by_a_process_that_has_not_seen_the_user(
    memory: Memory, anna: Scope, topic: str
) -> None:
    await memory.table.put(Put(keys.legacy_fact_key(anna, topic), {"text": "Ana lives in Bern", "topic": topic}))

    again = await memory.facts.learn(anna, Statement("Ana lives in Bern", topic="elsewhere"))

    assert (again.outcome, again.fact.topic) == (Outcome.SUPPORTED, topic)


async def test_an_export_of_an_earlier_release_is_imported_unchanged(old: Memory, anna: Scope) -> None:
    lines = [line async for line in old.archive.export(anna)]
    ben = Scope("ben")

    there = await old.archive.import_(anna, lines)
    elsewhere = await old.archive.import_(ben, lines)

    assert (elsewhere.added, there.known) == (4, 3)
    assert texts(await old.facts.history(ben, CITY)) == ["Ana lives in Bern", "Ana lives in Chur", "Ana lives in Basel"]
    assert (
        texts(await old.facts.all(anna))
        == texts(await old.facts.all(ben))
        == ["Ana lives in Basel", "Ana lives in Rome"]
    )
