"""The second tool set, for orchestrators that keep their conversations here. It is off by default.

A session belongs to the identified user: its id alone gives no access.
"""

from datetime import datetime, timedelta
from typing import Annotated, Any

from mcp_memory_server.domain.context.page import DEFAULT_PAGE_TOKENS
from mcp_memory_server.domain.conversations.chat_lifecycle import Chat
from mcp_memory_server.domain.conversations.tool_log import ToolCall, ToolStatus
from mcp_memory_server.domain.kernel.page_limits import check_limit
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.sessions.limits import Tier
from mcp_memory_server.domain.sessions.turns import MAX_CONTENT_BYTES, NewTurn, Role, Turn, View
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.memory import Memory
from mcp_memory_server.services.conversations.session_list import SessionStatistics
from mcp_memory_server.services.sessions.session_reader import LoadedSession
from mcp_memory_server.tools import Reply, memory_tool

OLDER_TURNS = 20
REPLY_BYTES = 256 * 1024
"""A reply with turns ends before it is longer; its cursor leads to the earlier ones."""
LONGEST_PART = 64 * 1024
"""In characters: of a longer turn this part is in a reply. `continues_at` and `offset` lead further."""
LONGEST_IN_BUDGET = 8 * 1024
"""The same for a load within the budget of a session, whose first and last turn stay however long they are."""
MOST_CALLS = 200
LONGEST_CALL_MS = 31 * 24 * 3_600_000
LOGGED_WITHIN_SECONDS = 1.0
"""How long to wait for a logged call to be written before the reply says that it is pending."""

_OPERATION = "the same id twice is done once; send one if you may repeat the call"


@memory_tool("Keep a turn", returns={"id": {"type": "string"}}, idempotent=False)
async def append_turn(
    memory: Memory,
    scope: Scope,
    session_id: str,
    role: Role,
    content: str,
    speaker: str | None = None,
    intent: str | None = None,
    agent: str | None = None,
    tool_calls: list[dict[str, Any]] | None = None,
    token_count: int | None = None,
    importance: Annotated[float | None, "0 to 1; worked out if left out"] = None,
    page_context: dict[str, Any] | None = None,
    response_id: str | None = None,
    guardrail_flags: list[str] | None = None,
    said_at: Annotated[datetime | None, "ISO time of an old turn"] = None,
    source_id: Annotated[str | None, "what the turn is called where it comes from"] = None,
    tier: Annotated[Tier, "how long the session stays cached"] = Tier.STANDARD,
    operation_id: Annotated[str | None, _OPERATION] = None,
) -> Reply:
    """Keep one turn of a conversation. Once this answers, the turn is never lost."""
    new = NewTurn(
        role,
        content,
        speaker=speaker,
        intent=intent,
        agent=agent,
        tool_calls=tuple(tool_calls or ()),
        token_count=token_count,
        importance=importance,
        page_context=page_context,
        response_id=response_id,
        guardrail_flags=tuple(guardrail_flags or ()),
        said_at=said_at,
        source_id=source_id,
    )
    session = Scope(scope.user_id, session_id)
    appended = await memory.conversations.append(session, new, operation_id=operation_id, tier=tier)
    reply: Reply = {"status": "complete", "id": appended.turn.id, "tokens": appended.turn.token_count}
    if appended.redacted:
        reply["redacted"] = appended.redacted
    # It is durable in the outbox; another machine may not see it yet.
    return {**reply, "pending": True} if appended.pending else reply


@memory_tool("Load a conversation", returns={"turns": {"type": "array"}}, read_only=True)
async def load_session(
    memory: Memory,
    scope: Scope,
    session_id: str,
    turns: Annotated[int | None, "exactly so many of the last turns"] = None,
    view: View = View.CONTEXT,
    before: Annotated[str | None, "the cursor of an earlier answer: older turns"] = None,
    tier: Tier = Tier.STANDARD,
    offset: Annotated[int, "with turns=1: continues_at of an earlier answer, the rest of a long turn"] = 0,
) -> Reply:
    """Load a conversation: its last turns within the budget of a session, oldest first, counters and summary."""
    session = Scope(scope.user_id, session_id)
    if offset and turns != 1:
        raise InvalidRequestError(f"an offset is for one long turn; add turns=1, got turns={turns}")
    if not 0 <= offset <= MAX_CONTENT_BYTES:
        raise InvalidRequestError(f"offset must be 0 to {MAX_CONTENT_BYTES:,}")
    part = slice(offset, offset + (LONGEST_IN_BUDGET if turns is None and before is None else LONGEST_PART))
    if before is not None:
        most = OLDER_TURNS if turns is None else turns
        older = await memory.conversations.before(session, before, turns=most, view=view, most_bytes=REPLY_BYTES)
        return _page(older, view, part)
    loaded = await memory.conversations.load(session, turns=turns, view=view, tier=tier, most_bytes=REPLY_BYTES)
    reply = _page(loaded, view, part) | {"turn_count": loaded.turn_count, "token_count": loaded.token_count}
    if loaded.ended_at is not None:
        reply["ended_at"] = loaded.ended_at.isoformat(timespec="milliseconds")
    return reply if loaded.summary is None else {**reply, "summary": loaded.summary}


@memory_tool("End a conversation")
async def end_session(
    memory: Memory,
    scope: Scope,
    session_id: str,
    summary: Annotated[str | None, "what the next conversation should know of this one"] = None,
    open_questions: Annotated[list[str] | None, "what is still to be answered or done"] = None,
    operation_id: Annotated[str | None, _OPERATION] = None,
) -> Reply:
    """End a conversation; the next load_context mentions it. Its turns stay; a later turn makes it go on."""
    ended = await memory.conversations.end(
        Scope(scope.user_id, session_id),
        summary=summary,
        open_questions=open_questions or (),
        operation_id=operation_id,
    )
    counted = {"turn_count": ended.turn_count, "token_count": ended.token_count}
    return {"status": "complete", "ended_at": ended.ended_at.isoformat(timespec="milliseconds"), **counted}


@memory_tool("Load the context", returns={"context": {"type": "string"}}, read_only=True)
async def load_context(
    memory: Memory,
    scope: Scope,
    max_tokens: int = DEFAULT_PAGE_TOKENS,
    session_id: str | None = None,
    cursor: Annotated[str | None, "from a reply: go on"] = None,
) -> Reply:
    """Load who the user is and what they need, and the running conversation, for the next model call."""
    page = await memory.context.load(scope.in_session(session_id), max_tokens=max_tokens, cursor=cursor)
    return page.to_reply()


@memory_tool("List conversations", returns={"sessions": {"type": "array"}}, read_only=True)
async def list_sessions(memory: Memory, scope: Scope, limit: int = 20, cursor: str | None = None) -> Reply:
    """List the user's conversations with their turns, tokens, and the times of their first and last turn."""
    page = await memory.session_list.page(scope, limit=limit, cursor=cursor)
    return _with_cursor({"status": "complete", "sessions": [_session(one) for one in page.sessions]}, page.cursor)


@memory_tool("Begin a chat", idempotent=False)
async def create_chat(
    memory: Memory,
    scope: Scope,
    agent: str,
    title: str | None = None,
    agent_version: str | None = None,
    operation_id: Annotated[str | None, _OPERATION] = None,
) -> Reply:
    """Begin the chat of the user with an agent. Fails if one is active: renew it instead."""
    chat = await memory.chats.create(scope, agent, agent_version=agent_version, title=title, operation_id=operation_id)
    return {"status": "complete", "chat": _chat(chat)}


@memory_tool("Show the active chat", read_only=True)
async def active_chat(memory: Memory, scope: Scope, agent: str) -> Reply:
    """Return which chat the user has with an agent; chat is null if there is none."""
    chat = await memory.chats.active(scope, agent)
    return {"status": "complete", "chat": None if chat is None else _chat(chat)}


@memory_tool("Renew the chat", idempotent=False)
async def renew_chat(
    memory: Memory,
    scope: Scope,
    agent: str,
    title: str | None = None,
    agent_version: str | None = None,
    operation_id: Annotated[str | None, _OPERATION] = None,
) -> Reply:
    """End the active chat, which becomes history, and begin a new one, in one step."""
    chat = await memory.chats.renew(scope, agent, agent_version=agent_version, title=title, operation_id=operation_id)
    return {"status": "complete", "chat": _chat(chat)}


@memory_tool("End the chat", destructive=True)
async def delete_chat(
    memory: Memory, scope: Scope, agent: str, operation_id: Annotated[str | None, _OPERATION] = None
) -> Reply:
    """End the active chat. It stays in the history with the time of its deletion."""
    await memory.chats.delete(scope, agent, operation_id=operation_id)
    return {"status": "complete"}


@memory_tool("Note the version of a chat")
async def set_chat_version(
    memory: Memory,
    scope: Scope,
    chat_id: str,
    agent_version: str,
    operation_id: Annotated[str | None, _OPERATION] = None,
) -> Reply:
    """Note which version of the agent serves a chat."""
    chat = await memory.chats.set_agent_version(scope, chat_id, agent_version, operation_id=operation_id)
    return {"status": "complete", "chat": _chat(chat)}


@memory_tool("List active chats", returns={"chats": {"type": "array"}}, read_only=True)
async def active_chats(memory: Memory, scope: Scope) -> Reply:
    """List the active chats of the user with all agents."""
    return {"status": "complete", "chats": [_chat(chat) for chat in await memory.chats.all_active(scope)]}


@memory_tool("List past chats", returns={"chats": {"type": "array"}}, read_only=True)
async def past_chats(memory: Memory, scope: Scope, agent: str, limit: int = 20, cursor: str | None = None) -> Reply:
    """List ended chats with an agent, newest first."""
    page = await memory.chats.past(scope, agent, limit=limit, cursor=cursor)
    return _with_cursor({"status": "complete", "chats": [_chat(chat) for chat in page.chats]}, page.cursor)


@memory_tool("Log a tool call", idempotent=False)
async def log_tool_call(
    memory: Memory,
    scope: Scope,
    name: str,
    duration_ms: float,
    inputs: dict[str, Any] | None = None,
    output: str = "",
    status: ToolStatus = ToolStatus.OK,
    session_id: str | None = None,
) -> Reply:
    """Note that a tool was called, without its secrets."""
    session = Scope(scope.user_id, session_id)
    if not 0 <= duration_ms <= LONGEST_CALL_MS:
        raise InvalidRequestError(f"duration_ms must be 0 to {LONGEST_CALL_MS:,}, got {duration_ms:.3g}")
    duration = timedelta(milliseconds=duration_ms)
    memory.tool_log.record(session, name, inputs or {}, output, status=status, duration=duration)
    is_written = await memory.tool_log.drain(LOGGED_WITHIN_SECONDS)
    return {"status": "complete"} if is_written else {"status": "complete", "pending": True}


@memory_tool("List tool calls", returns={"calls": {"type": "array"}}, read_only=True)
async def tool_log(
    memory: Memory, scope: Scope, session_id: str | None = None, limit: int = 50, cursor: str | None = None
) -> Reply:
    """List the tool calls of the user, or of one session, newest first."""
    check_limit(limit, most=MOST_CALLS)
    if session_id is None:
        page = await memory.tool_log.by_time(scope, limit=limit, cursor=cursor)
    else:
        page = await memory.tool_log.by_session(scope, session_id, limit=limit, cursor=cursor)
    status = Status.PARTIAL if page.missing else Status.COMPLETE
    reply: Reply = {"status": status.value, "calls": [_call(call) for call in page.calls]}
    return _with_cursor({**reply, "missing": list(page.missing)} if page.missing else reply, page.cursor)


CONVERSATION_TOOLS = (
    list_sessions,
    append_turn,
    load_session,
    end_session,
    load_context,  # replaces the tool without a session
    create_chat,
    active_chat,
    renew_chat,
    delete_chat,
    set_chat_version,
    active_chats,
    past_chats,
    log_tool_call,
    tool_log,
)


def _page(loaded: LoadedSession, view: View, part: slice) -> Reply:
    reply: Reply = {"status": loaded.status.value, "turns": [_turn(turn, view, part) for turn in loaded.turns]}
    if loaded.missing:
        reply["missing"] = list(loaded.missing)
    if loaded.partitions > 1:
        reply |= {"partitions": loaded.partitions, "answered": loaded.answered}
    return _with_cursor(reply, loaded.cursor)


def _turn(turn: Turn, view: View, part: slice) -> dict[str, Any]:
    values: dict[str, Any] = {"id": turn.id, "role": turn.role.value, "content": turn.content[part]}
    if len(turn.content) > part.stop:
        values |= {"continues_at": part.stop, "characters": len(turn.content)}
    if view is not View.SUMMARY:
        values |= {"at": turn.at.isoformat(timespec="milliseconds"), "intent": turn.intent, "speaker": turn.speaker}
    if view is View.EVERYTHING:
        values |= {
            "agent": turn.agent,
            "tool_calls": list(turn.tool_calls),
            "token_count": turn.token_count,
            "importance": turn.importance,
            "page_context": turn.page_context,
            "response_id": turn.response_id,
            "source_id": turn.source_id,
            "guardrail_flags": list(turn.guardrail_flags),
        }
    return {name: value for name, value in values.items() if value not in (None, [])}


def _chat(chat: Chat) -> dict[str, Any]:
    values = {
        "id": chat.id,
        "agent": chat.agent,
        "created_at": chat.created_at.isoformat(),
        "agent_version": chat.agent_version,
        "title": chat.title,
        "deleted_at": None if chat.deleted_at is None else chat.deleted_at.isoformat(),
    }
    return {name: value for name, value in values.items() if value is not None}


def _session(session: SessionStatistics) -> dict[str, Any]:
    values = {
        "session_id": session.id,
        "turn_count": session.turn_count,
        "token_count": session.token_count,
        "created_at": session.created_at.isoformat(timespec="milliseconds"),
        "last_activity": session.last_activity.isoformat(timespec="milliseconds"),
        "ended_at": None if session.ended_at is None else session.ended_at.isoformat(timespec="milliseconds"),
    }
    return {name: value for name, value in values.items() if value is not None}


def _call(call: ToolCall) -> dict[str, Any]:
    values = {
        "name": call.name,
        "status": call.status.value,
        "at": call.at.isoformat(timespec="milliseconds"),
        "duration_ms": round(call.duration / timedelta(milliseconds=1), 1),
        "inputs": call.inputs,
        "output": call.output,
        "session_id": call.session_id,
    }
    return {name: value for name, value in values.items() if value not in (None, "", {})}


def _with_cursor(reply: Reply, cursor: str | None) -> Reply:
    return reply if cursor is None else {**reply, "cursor": cursor}
