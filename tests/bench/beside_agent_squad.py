"""Side by side with the chat storage that Agent Squad brings: several writers, one conversation, what is kept."""

import asyncio
import logging
import os
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

import boto3
from agent_squad.storage import DynamoDbChatStorage
from agent_squad.types import ConversationMessage

from mcp_memory_server import NewTurn, Role, Scope, Settings, open_memory
from tests.bench.figures import Cell, Figures
from tests.bench.stage import REGION, USER, Stage

logging.getLogger().setLevel(logging.WARNING)  # importing Agent Squad has set it to INFO, for everybody

WRITERS = 4
MESSAGES = 20
AGENT = "clerk"
SESSION = "shared"

Say: TypeAlias = Callable[[int, str], Awaitable[object]]
"""Appends a message; the number tells whose turn it is, the user's or the assistant's."""
Store: TypeAlias = Callable[[], AbstractAsyncContextManager[Say]]
"""Opens the store anew, as another process would."""


async def measure_beside_agent_squad(stage: Stage) -> Figures:
    return Figures(
        f"{WRITERS} writers of {MESSAGES} messages each, one conversation, one DynamoDB Local",
        [
            await _theirs(stage, "Agent Squad, save_chat_message", checks_roles=True),
            await _theirs(stage, "Agent Squad, save_chat_messages", checks_roles=False),
            await _ours(stage),
        ],
        (
            "roles alternate within a writer; a writer has a thread, an event loop and a client of its own",
            "save_chat_message also leaves out what follows a message of the same role; save_chat_messages does not",
        ),
    )


async def _theirs(stage: Stage, what: str, *, checks_roles: bool) -> Mapping[str, Cell]:
    table = _their_table(stage)
    acknowledged = await _written(lambda: _agent_squad(table, checks_roles=checks_roles))
    kept = await DynamoDbChatStorage(table, REGION).fetch_chat(USER, SESSION, AGENT)
    return _row(what, acknowledged, len(kept))


async def _ours(stage: Stage) -> Mapping[str, Cell]:
    settings = await stage.fresh()
    acknowledged = await _written(lambda: _our_memory(settings))
    async with open_memory(settings) as memory:
        kept = await memory.conversations.load(Scope(USER, SESSION), turns=WRITERS * MESSAGES + 1)
    return _row("this memory", acknowledged, len({turn.content for turn in kept.turns}))


async def _written(store: Store) -> int:
    """Let the writers write side by side, and return how many messages were acknowledged."""

    async def write(writer: int) -> int:
        async with store() as say:
            for number in range(MESSAGES):
                await say(number, f"Writer {writer}, message {number}")
        return MESSAGES

    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(WRITERS) as threads:
        # Its own thread for each: Agent Squad's store does not await, so in one event loop it would never be two.
        writing = [loop.run_in_executor(threads, asyncio.run, write(writer)) for writer in range(WRITERS)]
        return sum(await asyncio.gather(*writing))


@asynccontextmanager
async def _agent_squad(table: str, *, checks_roles: bool) -> AsyncGenerator[Say]:
    storage = DynamoDbChatStorage(table, REGION)

    async def say(number: int, text: str) -> object:
        role: Any = ("user", "assistant")[number % 2]
        message = ConversationMessage(role=role, content=[{"text": text}])
        if checks_roles:
            return await storage.save_chat_message(USER, SESSION, AGENT, message)
        return await storage.save_chat_messages(USER, SESSION, AGENT, [message])

    yield say


@asynccontextmanager
async def _our_memory(settings: Settings) -> AsyncGenerator[Say]:
    async with open_memory(settings) as memory:

        async def say(number: int, text: str) -> object:
            role = (Role.USER, Role.ASSISTANT)[number % 2]
            return await memory.conversations.append(Scope(USER, SESSION), NewTurn(role, text, agent=AGENT))

        yield say


def _their_table(stage: Stage) -> str:
    """Make a table as Agent Squad's documentation asks for it, and let its client find the engine."""
    os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = stage.endpoint
    name = f"squad-{uuid.uuid4().hex}"
    client: Any = boto3.client("dynamodb", region_name=REGION)
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in ("PK", "SK")],
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
    )
    client.close()
    return name


def _row(what: str, acknowledged: int, kept: int) -> Mapping[str, Cell]:
    return {"what": what, "acknowledged": acknowledged, "kept": kept, "lost": acknowledged - kept}
