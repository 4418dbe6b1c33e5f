"""One damaged item costs one item: all else is answered, what is missing is counted, and repair brings it back."""

import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_memory_server import Memory, MemoryServerError, NewTurn, Role, Scope, Settings, Status, open_memory
from mcp_memory_server.adapters.sqlite.damage.salvage import rebuild, salvage
from mcp_memory_server.domain.facts.fact import Statement

pytestmark = pytest.mark.anyio

ANA = Scope("ana")


def settings(path: Path) -> Settings:
    return Settings(table=f"sqlite://{path}", embeddings="none")


async def filled(path: Path, *, facts: int, sessions: int) -> None:
    async with open_memory(settings(path)) as memory:
        for number in range(facts):
            chance = random.Random(number).randbytes(6).hex()
            await memory.facts.learn(
                ANA, Statement(f"Fact number {number} is about {chance}", topic=f"t/{number % 40}")
            )
        for session in range(sessions):
            for turn in range(3):
                scope = Scope("ana", f"s{session}")
                await memory.conversations.append(scope, NewTurn(Role.USER, f"Turn {turn} of session {session}"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    await filled(path, facts=30, sessions=3)
    return path


def damage(path: Path, place: str, change: str) -> None:
    """Change a letter in the bodies of the rows at this place, past everything that would notice."""
    data = path.read_bytes()
    at = data.index(change.encode(), data.index(place.encode()) if place else 0)
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


async def facts_of(memory: Memory) -> dict[str, str | None]:
    return {fact.text: fact.topic for fact in await memory.facts.all(ANA)}


async def test_a_damaged_fact_is_left_out_and_counted_everywhere(path: Path) -> None:
    damage(path, "", "Fact number 7 ")

    async with open_memory(settings(path)) as memory:
        found = await memory.recall.search(ANA, "Fact number 8")
        page = await memory.context.load(ANA)
        facts = await memory.facts.all(ANA)
        missing = await memory.facts.missing(ANA)
        unreadable: list[str] = []
        lines = [line async for line in memory.archive.export(ANA, on_unreadable=unreadable.append)]

    assert (found.status, page.status) == (Status.PARTIAL, Status.PARTIAL)
    assert missing == ("1 stored memories could not be read",)
    assert len(facts) == 29
    assert (len([line for line in lines if json.loads(line).get("kind") == "fact"]), len(unreadable)) == (29, 1)


async def test_what_was_damaged_can_be_said_again(path: Path) -> None:
    async with open_memory(settings(path)) as memory:
        text = next(fact.text for fact in await memory.facts.all(ANA) if fact.text.startswith("Fact number 7 "))
    damage(path, "", "Fact number 7 ")

    async with open_memory(settings(path)) as memory:
        await memory.facts.learn(ANA, Statement(text, topic="t/7"))
        facts, missing = await facts_of(memory), await memory.facts.missing(ANA)

    assert (len(facts), missing) == (30, ())
    assert text in facts


async def test_a_damaged_user_version_costs_nothing_and_begins_anew_with_the_next_write(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE items SET checksum = checksum + 7 WHERE sk = 'PROFILE'")

    async with open_memory(settings(path)) as memory:
        before = await facts_of(memory)
        await memory.facts.learn(ANA, Statement("One more"))
        after = await facts_of(memory)

    assert (len(before), len(after)) == (30, 31)


async def test_a_damaged_turn_is_left_out_and_counted(path: Path) -> None:
    damage(path, "", "Turn 1 of session 2")

    async with open_memory(settings(path)) as memory:
        loaded = await memory.conversations.load(Scope("ana", "s2"))
        other = await memory.conversations.load(Scope("ana", "s1"))

    assert (loaded.status, loaded.missing, len(loaded.turns)) == (Status.PARTIAL, ("1 turns could not be read",), 2)
    assert (other.status, len(other.turns)) == (Status.COMPLETE, 3)


async def test_all_data_of_a_user_can_be_erased_although_some_is_damaged(path: Path) -> None:
    damage(path, "", "Fact number 7 ")
    damage(path, "", "Turn 1 of session 2")

    async with open_memory(settings(path)) as memory:
        await memory.erasure.forget_user(ANA)
        left = [item.key.pk for item in (await memory.table.scan(limit=10)).items]

    assert [pk for pk in left if "ana" in pk] == []


@pytest.mark.parametrize(
    ("facts", "sessions", "flips"),
    [pytest.param(60, 5, 40, id="quick"), pytest.param(1000, 50, 1000, id="full", marks=pytest.mark.slow)],
)
async def test_no_flipped_bit_changes_an_answer_and_repair_brings_everything_back(
    tmp_path: Path, facts: int, sessions: int, flips: int
) -> None:
    original, path = tmp_path / "original.db", tmp_path / "memory.db"
    await filled(original, facts=facts, sessions=sessions)
    truth = await answers(original, sessions)
    rows, data = salvage(original).rows, original.read_bytes()
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    told = {"complete": 0, "partial": 0, "refused": 0}
    saved, mended = 0, 0

    for _ in range(flips):
        place, bit = chance.randrange(len(data)), 1 << chance.randrange(8)
        clean_up(tmp_path)
        path.write_bytes(data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :])
        found = salvage(path)
        assert all(rows.get(key) == row for key, row in found.rows.items()), f"seed {seed}: {bit} of byte {place}"
        saved, mended = saved + len(found.rows), mended + found.mended
        assert len(rows) - len(found.rows) <= 1, f"seed {seed}: {bit} of byte {place} cost more than its own row"
        try:
            answer = await answers(path, sessions)
        except MemoryServerError:
            told["refused"] += 1
            continue
        for question, (status, content) in answer.items():
            told["complete" if status is Status.COMPLETE else "partial"] += 1
            expected = truth[question][1]
            assert content <= expected, f"seed {seed}: bit {bit} of byte {place} changed {question}"
            assert status is not Status.COMPLETE or content == expected, (
                f"seed {seed}: {bit} of byte {place} hid {question}"
            )

    share = saved / (flips * len(rows))
    print(json.dumps({"seed": seed, "flips": flips, **told, "wrong": 0, "rows saved": share, "mended": mended}))
    assert share > 0.99


async def answers(path: Path, sessions: int) -> dict[str, tuple[Status, set[str]]]:
    """Return every fact, and every turn of a session, each with its status."""
    async with open_memory(settings(path)) as memory:
        facts = await memory.facts.all(ANA)
        status = Status.PARTIAL if await memory.facts.missing(ANA) else Status.COMPLETE
        found = {"facts": (status, {fact.text for fact in facts})}
        for session in range(0, sessions, max(1, sessions // 3)):
            loaded = await memory.conversations.load(Scope("ana", f"s{session}"))
            found[f"s{session}"] = (loaded.status, {turn.content for turn in loaded.turns})
    return found


def clean_up(folder: Path) -> None:
    for leftover in folder.glob("memory.db*"):
        leftover.unlink()


async def test_of_a_file_with_many_damaged_rows_everything_outside_them_is_back(tmp_path: Path) -> None:
    original, path = tmp_path / "original.db", tmp_path / "memory.db"
    await filled(original, facts=300, sessions=10)
    shutil.copy(original, path)
    seed = random.randrange(2**32)
    chance, data = random.Random(seed), bytearray(original.read_bytes())
    for _ in range(300):
        data[chance.randrange(100, len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)

    found, truth = salvage(path), salvage(original).rows
    rebuild(path, list(found.rows.values()))
    async with open_memory(settings(path)) as memory:
        missing = await memory.facts.missing(ANA)

    share = len(found.rows) / len(truth)
    print(json.dumps({"seed": seed, "flips": 300, "rows": len(truth), "saved": share, "lost": len(found.lost)}))
    assert all(truth[key] == row for key, row in found.rows.items())
    assert share > 0.8
    assert missing == ()
    assert len(list(tmp_path.glob("memory.db.damaged-*"))) == 1
