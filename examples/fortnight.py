"""A fortnight with three users: what an agent is told at the start of each of 60 sessions, and in how many tokens.

Ana changes her employer, has her address forgotten, and has a question that stays open for days. Ben moves, and nobody
saves it: it is learned when the session is over. Chloé only wants her plants watered.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from mcp_memory_server import Memory, NewTurn, Role, Scope, Settings, Statement, open_memory

DAYS, SESSIONS = 14, 60
QUESTION = "Does the hotel in Porto allow my dog Rex in the dining room?"
USERS = ("ana", "ben", "chloé")


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 3, 2, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment


@dataclass(frozen=True)
class Greeting:
    """What the agent was told when a session began."""

    number: int
    day: int
    user: str
    text: str


# What is said, by user and by the number of their session; every other session is about something of every day.
SAID: dict[str, dict[int, Sequence[str]]] = {
    "ana": {
        0: ("Hi! I work at Acme as a tax adviser. I prefer short answers.", "Noted."),
        2: (QUESTION, "I will check with the hotel and let you know."),
        4: ("Please send the contract to 5 Rose Street, Lisbon. That is my address.", "It is on its way."),
        7: ("I left Acme. I work at Globex now.", "Congratulations on the new job!"),
        11: ("Please forget my address.", "It is forgotten."),
        16: (
            "Any news from the hotel?",
            "Yes: the hotel in Porto does allow your dog Rex in the dining room, on a leash.",
        ),
    },
    "ben": {
        1: ("I live in Hamburg and I prefer trains to planes.", "Good to know."),
        9: ("I moved to Vienna last week, by the way.", "How nice, I hope that you like it there."),
    },
    "chloé": {0: ("I never drink coffee, please always suggest tea.", "Tea it is.")},
}
EVERYDAY = {
    "ana": ("the quarterly report", "a flight to Porto", "the tax return", "a birthday cake", "the office printer"),
    "ben": ("a night train", "the chess club", "a bicycle repair", "the heating bill", "a concert"),
    "chloé": ("the orchids", "the balcony", "a watering can", "the compost", "the garden fence"),
}


async def fortnight(memory: Memory, clock: Clock) -> AsyncIterator[Greeting]:
    """Hold the sessions one after the other, and tell what the agent is told at the start of each."""
    held = dict.fromkeys(USERS, 0)
    for number in range(SESSIONS):
        user = USERS[number % len(USERS)]
        scope, nth = Scope(user, f"session {number}"), held[user]
        page = await memory.context.load(scope)
        yield Greeting(number, number * DAYS // SESSIONS + 1, user, page.text)
        await hold(memory, clock, scope, SAID[user].get(nth) or everyday(user, nth))
        await what_the_agent_does(memory, user, nth)
        held[user] += 1
        # Time is moved by hand, so what a server does in the background is asked for by hand: nobody ends a session
        # here, its deadline passes.
        clock.moment += timedelta(days=DAYS) / SESSIONS
        await memory.finalizer.finish_due()
        await memory.finalizer.fold_due()


def everyday(user: str, nth: int) -> Sequence[str]:
    matter = EVERYDAY[user][nth % len(EVERYDAY[user])]
    return (f"Please help me with {matter}.", f"Of course, I have noted {matter} for {nth} o'clock.", "Thanks!")


async def hold(memory: Memory, clock: Clock, scope: Scope, said: Sequence[str]) -> None:
    for place, text in enumerate(said):
        await memory.conversations.append(scope, NewTurn((Role.USER, Role.ASSISTANT)[place % 2], text))
        clock.moment += timedelta(seconds=30)


async def what_the_agent_does(memory: Memory, user: str, nth: int) -> None:
    """Some of what is said the agent saves itself, as a model does when it thinks of it."""
    ana = Scope("ana")
    if (user, nth) == ("ana", 0):
        await memory.facts.learn(ana, Statement("Ana works at Acme.", topic="work/employer"))
    if (user, nth) == ("ana", 4):
        await memory.facts.learn(ana, Statement("Ana's address is 5 Rose Street, Lisbon.", topic="personal/address"))
    if (user, nth) == ("ana", 11):
        (address,) = await memory.facts.all(ana, "personal/address")
        await memory.erasure.forget(ana, address.id)


async def main() -> None:
    from mcp_memory_server.wiring import count_tokens

    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(table=f"sqlite://{folder}/memory.db", summarizer="none")
        async with open_memory(settings, now=clock) as memory:
            async for greeting in fortnight(memory, clock):
                tokens = count_tokens(greeting.text)
                print(f"\n=== day {greeting.day}, session {greeting.number}, {greeting.user}: {tokens} tokens ===")
                print(greeting.text)


if __name__ == "__main__":
    asyncio.run(main())
