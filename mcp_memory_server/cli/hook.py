"""The command that the hooks of a coding agent run where they can call no server, such as when a session starts."""

import argparse
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from mcp_memory_server.cli.existing import missing_file
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.turns import NewTurn, Role, View
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.memory import Memory
from mcp_memory_server.server.hook_tools import escaped, hook_tools, injection, source_of
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring import open_memory

PAGE_TOKENS = 600
TURNS_AT_ONCE = 100

_CONTINUED = frozenset({"resume", "fork"})


@dataclass(frozen=True)
class _Said:
    """A prompt or an answer of a transcript."""

    role: Role
    content: str
    prompt_id: str
    at: datetime


async def hook(parsed: argparse.Namespace, settings: Settings) -> int:
    """Read the event of a hook from standard input, and write the decision to standard output."""
    text = sys.stdin.read()
    event = _event_from(text)
    if parsed.event in _DECISIONS:
        if decision := await _DECISIONS[parsed.event](event, settings):
            print(json.dumps(decision, ensure_ascii=False))
    elif parsed.wait:
        await _session_end(event, settings)
    else:
        _run_detached(text)
    return 0


def _run_detached(event: str) -> None:
    """Run the end of a session in a process of its own: an agent that exits waits little more than a second for it."""
    command = [sys.executable, "-m", "mcp_memory_server", *sys.argv[1:], "--wait"]
    process = subprocess.Popen(  # noqa: S603 - this program, with the arguments it was started with
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    assert process.stdin is not None  # noqa: S101 - a pipe was asked for
    process.stdin.write(event.encode())
    process.stdin.close()


async def _session_start(event: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """Return the page that a conversation starts with; nothing where it is continued, or nothing is known."""
    if event.get("source") in _CONTINUED or missing_file(settings) is not None:
        return {}
    async with open_memory(settings) as memory:
        page = await memory.context.load(_scope(event, settings), max_tokens=PAGE_TOKENS)
    return injection("SessionStart", [escaped(page.text)])


async def _prompt(event: dict[str, Any], settings: Settings) -> Mapping[str, Any]:
    """Store a prompt and return the memories that fit it, for agents whose hooks are commands only."""
    on_prompt, _ = hook_tools()
    arguments = {**_turn(event), "prompt": str(event.get("prompt") or "")}
    async with open_memory(settings) as memory:
        return await on_prompt.call(memory, _scope(event, settings), arguments)


async def _stop(event: dict[str, Any], settings: Settings) -> Mapping[str, Any]:
    """Store an answer, and end the session, which the next prompt continues: not every such agent reports its end."""
    _, on_stop = hook_tools()
    arguments = {**_turn(event), "last_assistant_message": str(event.get("last_assistant_message") or "")}
    async with open_memory(settings) as memory:
        await on_stop.call(memory, _scope(event, settings), arguments)
        await memory.conversations.end(Scope(settings.scope().user_id, arguments["session_id"]))
    return {}


def _turn(event: dict[str, Any]) -> dict[str, str]:
    """Return the names of the session and of the turn: Claude Code calls it a prompt, Codex a turn."""
    turn = event.get("prompt_id") or event.get("turn_id") or ""
    return {"session_id": str(event.get("session_id") or ""), "prompt_id": str(turn)}


async def _session_end(event: dict[str, Any], settings: Settings) -> None:
    """Store what the transcript has and the memory has not, and end the session: the next one gets a hand-off."""
    transcript = _transcript(event)
    if not transcript:
        return
    session = Scope(settings.scope().user_id, str(event.get("session_id") or ""))
    async with open_memory(settings) as memory:
        stored = await _stored_sources(memory, session)
        for said in transcript:
            source_id = source_of(said.role, said.prompt_id)
            if source_id not in stored:
                turn = NewTurn(said.role, said.content, source_id=source_id, said_at=said.at)
                await memory.conversations.append(session, turn, operation_id=source_id)
        await memory.conversations.end(session)


async def _stored_sources(memory: Memory, session: Scope) -> set[str | None]:
    page = await memory.conversations.load(session, turns=TURNS_AT_ONCE, view=View.EVERYTHING)
    found = {turn.source_id for turn in page.turns}
    while page.cursor is not None:
        page = await memory.conversations.before(session, page.cursor, turns=TURNS_AT_ONCE, view=View.EVERYTHING)
        found |= {turn.source_id for turn in page.turns}
    return found


_DECISIONS: dict[str, Callable[[dict[str, Any], Settings], Awaitable[Mapping[str, Any]]]] = {
    "session-start": _session_start,
    "prompt": _prompt,
    "stop": _stop,
}


def _scope(event: dict[str, Any], settings: Settings) -> Scope:
    """Return the scope for the folder in which the agent works."""
    return settings.scope_in(Path(str(event.get("cwd") or Path.cwd())))


def _event_from(text: str) -> dict[str, Any]:
    try:
        event: object = json.loads(text)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise InvalidRequestError("a hook reads the JSON object of its event from standard input")
    return cast("dict[str, Any]", event)


def _transcript(event: dict[str, Any]) -> list[_Said]:
    """Return the prompts and the last text of each answer; commands, tool results and sidechains are left out."""
    said: list[_Said] = []
    prompt_id = ""
    for line in _lines(str(event.get("transcript_path") or "")):
        text = _text_of(line)
        if line.get("isSidechain") or line.get("isMeta") or not text:
            continue
        if line.get("type") == "user" and line.get("promptId"):
            prompt_id = str(line["promptId"])
            if not text.startswith("<"):  # the output of a command, or a reminder
                said.append(_Said(Role.USER, text, prompt_id, _time_of(line)))
        elif line.get("type") == "assistant" and prompt_id:
            if said and said[-1].role is Role.ASSISTANT and said[-1].prompt_id == prompt_id:
                said.pop()
            said.append(_Said(Role.ASSISTANT, text, prompt_id, _time_of(line)))
    return said


def _lines(path: str) -> Iterator[dict[str, Any]]:
    try:
        with Path(path).open(encoding="utf-8") as file:
            for text in file:
                line: object = json.loads(text)
                if isinstance(line, dict):
                    yield cast("dict[str, Any]", line)
    except (OSError, ValueError):
        return  # there is no transcript, or its last line is being written


def _text_of(line: dict[str, Any]) -> str:
    content: object = (line.get("message") or {}).get("content")
    if isinstance(content, str):
        return content.strip()
    blocks = cast("list[dict[str, Any]]", content) if isinstance(content, list) else []
    return "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text").strip()


def _time_of(line: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(str(line["timestamp"]))
