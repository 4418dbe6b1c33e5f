"""Rounds in which several users speak at the same moment, each with a PIN of their own, and what crossed afterwards.

A prompt crossed if it has the PINs of two users; a write crossed if a PIN is in a session of another user.
"""

import asyncio
import re
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from strands.models.model import Model

from examples.scripted_model import Line, ScriptedModel, Seen
from mcp_memory_server import Memory, Scope, View

PIN = re.compile(r"pin-u(\d)-\d+-\d+")
MOST_USERS = 8

Invoke = Callable[[str, str, str], object]
"""Invoke what is tested with words, for a user, in a session."""


def user_named(number: int) -> str:
    return f"u{number}"


@dataclass
class Crossed:
    """What crossed between users, and how many invocations were answered or refused."""

    prompts: list[str] = field(default_factory=list[str])
    writes: list[str] = field(default_factory=list[str])
    answered: int = 0
    refused: list[str] = field(default_factory=list[str])


class SlowModel(ScriptedModel):
    """A scripted model that lets others run before it answers, so that invocations overlap."""

    async def stream(self, *arguments: Any, **more: Any) -> AsyncGenerator[Any, None]:
        for _ in range(3):
            await asyncio.sleep(0.001)
        async for event in super().stream(*arguments, **more):  # pyright: ignore[reportGeneralTypeIssues]
            yield event


def echo(seen: Seen) -> str:
    """Repeat every PIN of the last message."""
    return "I heard " + " ".join(match.group() for match in PIN.finditer(seen.text))


def echoing(*script: Line) -> SlowModel:
    return SlowModel(*script or (echo,))


def run_in_threads(invoke: Invoke, models: Iterable[Model], rounds: int) -> Crossed:
    """Let 2 to 8 users speak at the same moment, each in a thread, round after round."""
    crossed = Crossed()
    with ThreadPoolExecutor(MOST_USERS) as threads:
        for number in range(rounds):
            users = 2 + number % (MOST_USERS - 1)
            together = threading.Barrier(users)
            said = [threads.submit(_speak, invoke, user, number, together) for user in range(users)]
            _collect(crossed, [each.exception() or each.result() for each in said], models)
    return crossed


async def run_in_one_loop(
    invoke: Callable[[str, str, str], Awaitable[object]], models: Iterable[Model], rounds: int
) -> Crossed:
    """Let 2 to 8 users speak at the same moment, each in a task of one event loop, round after round."""
    crossed = Crossed()
    for number in range(rounds):
        users = range(2 + number % (MOST_USERS - 1))
        said = [invoke(_words(user, number), user_named(user), f"s{number}") for user in users]
        _collect(crossed, await asyncio.gather(*said, return_exceptions=True), models)
    return crossed


async def find_crossed_writes(memory: Memory, rounds: int, *, longest: int = 60) -> tuple[list[str], int]:
    """Return the turns in which somebody else's PIN was stored, and the number of all turns."""
    found: list[str] = []
    turns = 0
    for number in range(rounds):
        for user in range(2 + number % (MOST_USERS - 1)):
            scope = Scope(user_named(user), f"s{number}")
            session = await memory.conversations.load(scope, turns=longest, view=View.EVERYTHING)
            turns += len(session.turns)
            for turn in session.turns:
                text = f"{turn.content} {turn.tool_calls}"
                found += [f"{scope}: {text}" for pin in PIN.findall(text) if pin != str(user)]
    return found, turns


def _words(user: int, number: int) -> str:
    return f"My PIN is pin-u{user}-{number}-{user * 7 + 1}."


def _speak(invoke: Invoke, user: int, number: int, together: threading.Barrier) -> object:
    together.wait()
    return invoke(_words(user, number), user_named(user), f"s{number}")


def _collect(crossed: Crossed, answers: Sequence[object], models: Iterable[Model]) -> None:
    for answer in answers:
        if isinstance(answer, BaseException):
            crossed.refused.append(f"{type(answer).__name__}: {answer}")
        else:
            crossed.answered += 1
    for model in models:
        assert isinstance(model, ScriptedModel)
        seen = model.seen[:]
        model.seen.clear()
        for each in seen:
            if len(set(PIN.findall(str(each.messages)))) > 1:
                crossed.prompts.append(str(each.messages))
