"""Lines of other programs, invalid lines and malicious lines."""

import json
from typing import Any

import pytest

from mcp_memory_server.domain.facts.fact import Outcome, Source, Statement, fact_id
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.memory import Memory
from mcp_memory_server.schema import keys

pytestmark = pytest.mark.anyio

SERVER_MEMORY = """\
{"type":"entity","name":"Ana Silva","entityType":"person","observations":["Lives in Lisbon","Speaks Portuguese"]}
{"type":"entity","name":"Nobody","entityType":"person","observations":[]}
{"type":"entity","name":"Acme","entityType":"company","observations":["Makes anvils"]}
{"type":"relation","from":"Ana Silva","to":"Acme","relationType":"works_at"}

"""


def line(kind: str = "fact", key: str = "x", **memory: Any) -> str:
    return json.dumps({"kind": kind, "key": key, "memory": memory})


async def stored(memory: Memory, owner: Scope) -> list[str]:
    page = await memory.table.query(keys.user_partition(owner.user_id), limit=None)
    return [item.key.sk for item in page.items if item.key.sk != keys.PROFILE]


async def test_the_file_of_the_official_server_is_read(memory: Memory, anna: Scope) -> None:
    done = await memory.archive.import_(anna, SERVER_MEMORY.splitlines())

    assert done.added == 4
    assert sorted(fact.text for fact in await memory.facts.all(anna)) == [
        "Acme (company): Makes anvils",
        "Ana Silva (person): Lives in Lisbon",
        "Ana Silva (person): Speaks Portuguese",
        "Ana Silva works at Acme",
    ]
    assert {fact.source for fact in await memory.facts.all(anna)} == {Source.IMPORTED}
    assert (await memory.recall.search(anna, "Where does Ana live?")).memories[0].text.endswith("Lives in Lisbon")


@pytest.mark.parametrize(
    "broken",
    [
        "{",
        "[1, 2]",
        '"text"',
        "null",
        '{"kind": "fact"}',
        '{"kind": "fact", "key": 5, "memory": {"text": "x"}}',
        '{"kind": "fact", "key": "x", "memory": "text"}',
        '{"kind": "fact", "key": "x", "memory": {}}',
        '{"kind": "secret", "key": "x", "memory": {"text": "x"}}',
        '{"type": "entity", "name": "Ana", "observations": ["x"]}',
        '{"type": "entity", "name": "Ana", "entityType": "person", "observations": 5}',
        '{"type": "relation", "from": "Ana"}',
        '{"format": "mcp-memory-server", "version": 3}',
        '{"format": "other", "version": 1}',
        line("past", text="no end"),
        line("preference", "", value="no key"),
        line("note", "feedback#1", text=" "),
        line(text="half \ud800"),
        line(text="x", version=3),
        line(text="x", far=1e300),
        line(text="x" * 500_000),
        line(topic="t" * 2000, text="x"),
        '{"kind": "fact", "key": "x", "memory": {"text": "x"}, "expires_at": "soon"}',
        '{"kind": "fact", "key": "x", "memory": {"text": "x", "support": Infinity}}',
        "[" * 100_000,
    ],
    ids=range(25),
)
async def test_a_line_that_cannot_be_read_is_named_and_nothing_is_imported(
    memory: Memory, anna: Scope, broken: str
) -> None:
    good = [line(text=f"fact {number}") for number in range(300)]

    with pytest.raises(InvalidRequestError, match=r"^line 302\b") as refusal:
        await memory.archive.import_(anna, [*good, "", broken, *good])

    assert await stored(memory, anna) == []
    assert len(str(refusal.value)) < 300


@pytest.mark.parametrize(
    ("kind", "key", "body", "place"),
    [
        ("fact", "../../USER#ben", {"text": "x"}, f"FACT#~{fact_id('x')}"),
        ("fact", "~other", {"text": "x", "id": fact_id("other")}, f"FACT#~{fact_id('x')}"),
        ("fact", "x", {"text": "x", "id": "a#b/../~"}, f"FACT#~{fact_id('x')}"),
        ("fact", "x", {"text": "x", "topic": "a#b~", "id": "1"}, "FACT#a%23b%7E"),
        ("fact", "x", {"text": "x", "topic": "a", "standing": "past", "valid_to": "2025-01-01T00:00:00Z"}, "FACT#a"),
        ("candidate", "x", {"text": "x", "topic": "a", "standing": "current"}, f"FACT?#~{fact_id('x')}#{fact_id('x')}"),
        ("past", "x", {"text": "x", "topic": "a", "valid_to": "2025-01-01"}, "PAST#a#2025-01-01T00:00:00.000000Z"),
        ("fact", "~a", {"text": "x", "topic": "a"}, f"FACT#~{fact_id('x')}"),
        (
            "past",
            "~a#b",
            {"text": "x", "topic": "a", "valid_to": "2025-01-01"},
            f"PAST#~{fact_id('x')}#2025-01-01T00:00:00.000000Z",
        ),
        ("preference", "a#b", {"value": "x"}, "PREF#a%23b"),
        ("note", "feedback#1#2", {"text": "x"}, "NOTE#feedback#1%232"),
        ("note", "PROFILE", {"text": "x"}, "NOTE#pattern#"),
        ("forgotten", "a#b", {}, "GONE#a%23b"),
    ],
)
async def test_a_line_cannot_choose_its_key(
    memory: Memory, anna: Scope, kind: str, key: str, body: dict[str, Any], place: str
) -> None:
    entry = {"kind": kind, "key": key, "memory": body, "pk": "USER#ben", "user": "ben", "user_id": "ben"}

    await memory.archive.import_(anna, [json.dumps(entry)])

    assert await stored(memory, anna) == [place]
    assert await stored(memory, Scope("ben")) == []


async def test_a_line_cannot_take_the_key_of_another_statement(memory: Memory, anna: Scope) -> None:
    await memory.archive.import_(anna, [line(text="Is an admin", id=fact_id("Has a cat"))])

    learned = await memory.facts.learn(anna, Statement("Has a cat", source=Source.INFERRED))

    assert learned.outcome is Outcome.LEARNED


async def test_numbers_and_dates_that_make_no_sense_do_not_spoil_the_memory(memory: Memory, anna: Scope) -> None:
    odd = line(text="Has a cat", support=0, confidence=-5, valid_from="2025-01-01", said_at="2025-01-01T10:00:00")

    await memory.archive.import_(anna, [odd, line(text="Has a dog", support=1e30, confidence=99, said_at="never")])

    assert len((await memory.recall.search(anna, "cat dog")).memories) == 2
    assert "Has a dog" in (await memory.context.load(anna)).text


async def test_an_expiry_without_a_zone_is_utc(memory: Memory, anna: Scope) -> None:
    entry = {"kind": "fact", "key": "x", "memory": {"text": "In Rome"}, "expires_at": "2026-03-02T00:00:00"}

    await memory.archive.import_(anna, [json.dumps(entry)])

    [fact] = await memory.facts.all(anna)
    assert fact.expires_at is not None
    assert fact.expires_at.isoformat() == "2026-03-02T00:00:00+00:00"
