"""No credential is stored: where it can be left out it is refused, and in conversations it is redacted."""

import json
from collections.abc import Awaitable, Callable

import pytest

from mcp_memory_server.domain.conversations.transcripts import transcript_from
from mcp_memory_server.domain.facts.fact import Statement
from mcp_memory_server.domain.facts.notes import NoteKind
from mcp_memory_server.domain.kernel.credentials import REDACTED
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.turns import NewTurn, Role, View
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.memory import Memory

pytestmark = pytest.mark.anyio

TOKEN = "ghp_" + "aB3x" * 9
PASSWORD = "Sommer" + "2024!"


@pytest.mark.parametrize(
    "save",
    [
        lambda memory, anna: memory.facts.learn(anna, Statement(f"Ana's GitHub token is {TOKEN}.")),
        lambda memory, anna: memory.facts.learn(anna, Statement(PASSWORD, topic="home/wifi/password")),
        lambda memory, anna: memory.preferences.set(anna, "wifi password", PASSWORD),
        lambda memory, anna: memory.preferences.set(anna, "git", f"always use {TOKEN}"),
        lambda memory, anna: memory.notes.add(anna, NoteKind.FEEDBACK, f"she said the password is {PASSWORD}"),
    ],
)
async def test_a_memory_with_a_credential_is_refused_and_nothing_is_written(
    memory: Memory, anna: Scope, save: Callable[[Memory, Scope], Awaitable[object]]
) -> None:
    with pytest.raises(InvalidRequestError, match="credentials are not kept in memory") as refusal:
        await save(memory, anna)

    assert TOKEN not in str(refusal.value)
    assert PASSWORD not in str(refusal.value)
    assert len([line async for line in memory.archive.export(anna)]) == 1  # its heading


async def test_what_only_speaks_of_a_password_is_kept(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, Statement("Ana's passwords are in Bitwarden.", topic="tools/password-manager"))
    await memory.preferences.set(anna, "password_manager", "Bitwarden")

    assert [fact.text for fact in await memory.facts.all(anna)] == ["Ana's passwords are in Bitwarden."]


async def test_a_credential_in_a_turn_is_redacted_before_it_is_stored(memory: Memory) -> None:
    session = Scope("anna", "chat")
    call = {"name": "login", "input": {"user": "ana", "password": PASSWORD}}

    said = await memory.conversations.append(session, NewTurn(Role.USER, f"Use {TOKEN} for the repository."))
    called = await memory.conversations.append(session, NewTurn(Role.ASSISTANT, "", tool_calls=(call,)))
    plain = await memory.conversations.append(session, NewTurn(Role.USER, "Thanks, I forgot my password again."))

    assert (said.redacted, called.redacted, plain.redacted) == (1, 1, 0)
    loaded = await memory.conversations.load(session, turns=5, view=View.EVERYTHING)
    assert [turn.content for turn in loaded.turns] == [
        f"Use {REDACTED} for the repository.",
        "",
        "Thanks, I forgot my password again.",
    ]
    assert loaded.turns[1].tool_calls == ({"name": "login", "input": {"user": "ana", "password": REDACTED}},)


async def test_a_repeated_append_of_a_credential_is_still_one_turn(memory: Memory) -> None:
    session, turn = Scope("anna", "chat"), NewTurn(Role.USER, f"my password is {PASSWORD}")

    first = await memory.conversations.append(session, turn, operation_id="op")
    again = await memory.conversations.append(session, turn, operation_id="op")

    assert (again.turn.id, again.repeated, again.redacted) == (first.turn.id, True, 1)


async def test_credentials_in_a_transcript_are_redacted_and_counted(memory: Memory, anna: Scope) -> None:
    lines = [json.dumps({"session": "1", "text": text}) for text in (f"token: {TOKEN}", "hello", f"use {TOKEN}")]

    done = await memory.conversations.transcribe(anna, transcript_from(lines))

    assert (done.added, done.redacted) == (3, 2)
    loaded = await memory.conversations.load(Scope(anna.user_id, "1"), turns=3)
    assert [turn.content for turn in loaded.turns] == [f"token: {REDACTED}", "hello", f"use {REDACTED}"]


async def test_a_credential_in_the_file_of_another_server_is_redacted(memory: Memory, anna: Scope) -> None:
    entity = {"type": "entity", "name": "Ana", "entityType": "person", "observations": [f"token {TOKEN}", "Likes tea"]}

    await memory.archive.import_(anna, [json.dumps(entity)])

    texts = sorted(fact.text for fact in await memory.facts.all(anna))
    assert texts == ["Ana (person): Likes tea", f"Ana (person): token {REDACTED}"]


async def test_what_an_earlier_version_stored_stays_readable(memory: Memory, anna: Scope) -> None:
    body = {"text": f"The password is {PASSWORD}.", "source": "user_stated", "confidence": 0.9, "permanence": "durable"}
    dates = {"said_at": "2026-01-01T00:00:00.000000Z", "valid_from": "2026-01-01T00:00:00.000000Z"}
    exported = {"kind": "fact", "key": "x", "memory": {"id": "x", "support": 1, "standing": "current", **body, **dates}}

    await memory.archive.import_(anna, [json.dumps(exported)])

    assert [fact.text for fact in await memory.facts.all(anna)] == [f"The password is {PASSWORD}."]
