"""Stores of any size for measuring time: short sentences as facts, or as turns of sessions."""

import asyncio
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from mcp_memory_server import Scope, Settings, Statement, open_memory
from mcp_memory_server.domain.conversations.transcripts import TranscribedTurn
from mcp_memory_server.domain.sessions.turns import NewTurn, Role
from tests.bench.recall.fine_vectors import all_embedded, embedded_in_no_time
from tests.bench.run import USER

ME = Scope(USER)
AT_ONCE = 200
TURNS_A_SESSION = 50
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)

WORDS = {
    "who": "Ana Ben Clara Dora Emil Finn Greta Hugo Ida Jonas Kira Leo Mara Nils Olga Paul Rosa Sven Tara Udo",
    "did": "bought sold repaired painted lost found borrowed photographed cleaned measured cooked planted sketched",
    "what": "bicycle piano tent camera lamp kayak ladder violin toaster carpet telescope drill sofa kettle globe",
    "where": "Porto Bern Lyon Oslo Turin Ghent Graz Malmo Cork Bilbao Split Tartu Brno Patras Vigo",
    "syllables": "ka lo mi ra te vu zo ni pe sha dru gle fro bi",
}


def sentence(number: int) -> str:
    """Return a sentence with a word that few others have."""
    draw = random.Random(number)
    words = {kind: draw.choice(choices.split()) for kind, choices in WORDS.items()}
    rare = "".join(draw.choices(WORDS["syllables"].split(), k=3))
    what = f"{words['did']} a {rare} {words['what']} in {words['where']}"
    return f"{words['who']} {what} for {draw.randint(2, 900)} euros, number {number}."


def question(number: int) -> str:
    """Return a question that the sentence of the same number answers."""
    _, did, _, rare, what, *_ = sentence(number).split()
    return f"Who {did} the {rare} {what}?"


async def fill_facts(table: Path, memories: int) -> None:
    with embedded_in_no_time():
        async with open_memory(Settings(table=f"sqlite://{table}", user=USER)) as memory:
            for start in range(0, memories, AT_ONCE):
                numbers = range(start, min(start + AT_ONCE, memories))
                learning = (memory.facts.learn(ME, Statement(sentence(n), f"things/{n}")) for n in numbers)
                await asyncio.gather(*learning)
            await memory.recall.search(ME, question(0))
            await all_embedded(memory, ME)


async def fill_turns(table: Path, memories: int) -> None:
    turns = [
        TranscribedTurn(
            f"session {number // TURNS_A_SESSION}",
            NewTurn(Role.USER, sentence(number), said_at=BEGINNING + timedelta(minutes=number)),
            f"fill-{number}",
        )
        for number in range(memories)
    ]
    async with open_memory(Settings(table=f"sqlite://{table}", user=USER, sessions="none")) as memory:
        await memory.conversations.transcribe(ME, turns)
