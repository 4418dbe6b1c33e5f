"""Commands that show conversations, chats and calls of tools."""

import argparse
from dataclasses import asdict
from datetime import datetime, timedelta

from mcp_memory_server.cli.existing import open_existing
from mcp_memory_server.cli.printing import print_json, print_table
from mcp_memory_server.domain.conversations.chat_lifecycle import Chat
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.turns import View
from mcp_memory_server.settings import Settings


async def sessions(parsed: argparse.Namespace, settings: Settings) -> int:
    """List the sessions of the user."""
    async with open_existing(settings) as memory:
        found = (await memory.session_list.page(settings.scope(), limit=parsed.limit)).sessions
    if parsed.json:
        print_json([asdict(one) for one in found])
        return 0
    rows = [
        [
            f"{one.turn_count:,}",
            f"{one.token_count:,}",
            _time(one.created_at),
            _time(one.last_activity),
            _time(one.ended_at),
            one.id,
        ]
        for one in found
    ]
    print_table(["turns", "tokens", "begun", "last turn", "ended", "session"], rows, "There are no conversations yet.")
    return 0


async def turns(parsed: argparse.Namespace, settings: Settings) -> int:
    """Show the last turns of a session."""
    scope = Scope(settings.scope().user_id, parsed.session)
    async with open_existing(settings) as memory:
        loaded = await memory.conversations.load(scope, turns=parsed.limit, view=View.EVERYTHING)
        if not loaded.turns:
            await memory.session_list.one(scope)
    if parsed.json:
        print_json([{"at": turn.at, **asdict(turn)} for turn in loaded.turns])
        return 0
    rows = [[_time(turn.at), turn.speaker or turn.role.value, turn.content] for turn in loaded.turns]
    print_table(["time", "who", "said"], rows, "")
    return 0


async def chats(parsed: argparse.Namespace, settings: Settings) -> int:
    """List the active chats of the user, and the past ones with one agent."""
    scope = settings.scope()
    async with open_existing(settings) as memory:
        found = [one for one in await memory.chats.all_active(scope) if parsed.agent in (None, one.agent)]
        if parsed.agent is not None:
            found += (await memory.chats.past(scope, parsed.agent, limit=parsed.limit)).chats
    if parsed.json:
        print_json([asdict(one) for one in found])
    else:
        columns = ["id", "agent", "version", "begun", "ended", "title"]
        print_table(columns, [_chat_row(one) for one in found], "There are no chats.")
    return 0


async def tool_log(parsed: argparse.Namespace, settings: Settings) -> int:
    """List calls of tools, newest first."""
    scope = settings.scope()
    async with open_existing(settings) as memory:
        log = memory.tool_log
        if parsed.session is None:
            found = (await log.by_time(scope, limit=parsed.limit)).calls
        else:
            found = (await log.by_session(scope, parsed.session, limit=parsed.limit)).calls[: parsed.limit]
    if parsed.json:
        print_json([asdict(call) | {"duration": call.duration.total_seconds()} for call in found])
        return 0
    rows = [
        [
            _time(call.at),
            call.status.value,
            f"{call.duration / timedelta(milliseconds=1):,.0f}",
            call.session_id or "",
            call.name,
            call.output,
        ]
        for call in found
    ]
    columns = ["time", "status", "ms", "session", "tool", "output"]
    print_table(columns, rows, "No tool calls are logged.", optional=["session", "ms"])
    return 0


def _chat_row(chat: Chat) -> list[str]:
    begun, ended = _time(chat.created_at), _time(chat.deleted_at)
    return [chat.id, chat.agent, chat.agent_version or "", begun, ended, chat.title or ""]


def _time(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M}"
