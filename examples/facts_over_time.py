"""The life of a fact: learned, repeated, superseded, guessed at, recalled as of a date, forgotten."""

import asyncio
import tempfile
from datetime import UTC, datetime

from mcp_memory_server import ForgottenError, Memory, Scope, Settings, Source, Statement, open_memory

ANA = Scope("ana")
CITY = "personal/location/city"


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with open_memory(Settings(table=f"sqlite://{folder}/memory.db")) as memory:
            await follow_one_fact(memory)


async def follow_one_fact(memory: Memory) -> None:
    lisbon = Statement("Ana lives in Lisbon.", topic=CITY, said_at=datetime(2026, 1, 10, tzinfo=UTC))
    print("said once:      ", (await memory.facts.learn(ANA, lisbon)).outcome)
    print("repeated:       ", (await memory.facts.learn(ANA, lisbon)).fact.support, "times")

    porto = Statement("Ana lives in Porto.", topic=CITY, said_at=datetime(2026, 6, 2, tzinfo=UTC))
    moved = await memory.facts.learn(ANA, porto)
    print("changed:        ", moved.outcome, "- before:", moved.earlier and moved.earlier.text)

    guess = await memory.facts.learn(ANA, Statement("Ana lives in Faro.", topic=CITY, source=Source.INFERRED))
    print("only guessed:   ", guess.outcome, "- stands:", guess.stands and guess.stands.text)

    now = await memory.recall.search(ANA, "Where does Ana live?")
    then = await memory.recall.search(ANA, "Where does Ana live?", as_of=datetime(2026, 3, 1, tzinfo=UTC))
    print("now:            ", now.memories[0].text)
    print("in March:       ", then.memories[0].text)

    forgotten = await memory.erasure.forget(ANA, now.memories[0].id)
    print("forgotten:      ", forgotten.removed, "items, history and guess included")
    try:
        await memory.facts.learn(ANA, porto)
    except ForgottenError as error:
        print("from old text:  ", error)


if __name__ == "__main__":
    asyncio.run(main())
