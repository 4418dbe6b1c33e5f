"""The second tool set, for orchestrators that keep their conversations here. It is off unless asked for."""

from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import Field

from mcp_memory_server.domain.answers import Status
from mcp_memory_server.domain.chats import Chat
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.domain.sessions import Tier
from mcp_memory_server.domain.tool_log import ToolCall, ToolStatus
from mcp_memory_server.domain.turns import NewTurn, Role, Turn, View
from mcp_memory_server.memory import Memory
from mcp_memory_server.server.dates import moment_from
from mcp_memory_server.server.identity import Identify
from mcp_memory_server.server.tool import MemoryTool, Reply, make_tool
from mcp_memory_server.services.sessions_at_hand import LoadedSession

OLDER_TURNS = 20
LOGGED_WITHIN_SECONDS = 1.0
"""So long a logged call may take to be written before the reply says that it is pending."""

_Tier = Literal["standard", "premium", "vip"]
_OPERATION = "the same id twice is done once; send one if you may repeat the call"


def conversation_tools(memory: Memory, identify: Identify) -> list[MemoryTool]:
    """Return the tools over one memory. A session belongs to the user who is identified: its id alone opens nothing.

    ``load_context`` is among them too, and takes the place of the one that knows no sessions.
    """
    return [
        *_turn_tools(memory, identify),
        *_session_tools(memory, identify),
        *_chat_tools(memory, identify),
        *_log_tools(memory, identify),
    ]


def _turn_tools(memory: Memory, identify: Identify) -> list[MemoryTool]:
    async def append_turn(
        session_id: str,
        role: Literal["user", "assistant", "tool", "system"],
        content: str,
        speaker: str | None = None,
        intent: str | None = None,
        agent: str | None = None,
        tool_calls: list[dict[str, Any]] | None = None,
        token_count: int | None = None,
        importance: Annotated[float | None, Field(description="0 to 1; worked out if left out")] = None,
        page_context: dict[str, Any] | None = None,
        response_id: str | None = None,
        guardrail_flags: list[str] | None = None,
        said_at: Annotated[str | None, Field(description="ISO time of an old turn")] = None,
        source_id: Annotated[str | None, Field(description="what the turn is called where it comes from")] = None,
        tier: Annotated[_Tier, Field(description="how long the session is kept at hand")] = "standard",
        operation_id: Annotated[str | None, Field(description=_OPERATION)] = None,
    ) -> Reply:
        """Keep one turn of a conversation. Once this answers, the turn is never lost."""
        new = NewTurn(
            Role(role),
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
            said_at=None if said_at is None else moment_from(said_at),
            source_id=source_id,
        )
        scope = Scope(identify().user_id, session_id)
        appended = await memory.conversations.append(scope, new, operation_id=operation_id, tier=Tier(tier))
        reply: Reply = {"status": "complete", "id": appended.turn.id, "tokens": appended.turn.token_count}
        if appended.redacted:
            reply["redacted"] = appended.redacted
        # It is durable, and will be in the table; another machine may not see it yet.
        return {**reply, "pending": True} if appended.pending else reply

    return [make_tool(append_turn, returns={"id": {"type": "string"}}, idempotent=False)]


def _session_tools(memory: Memory, identify: Identify) -> list[MemoryTool]:
    def session(session_id: str | None) -> Scope:
        return Scope(identify().user_id, session_id)

    async def load_session(
        session_id: str,
        turns: Annotated[int | None, Field(description="exactly so many of the last turns")] = None,
        view: Literal["context", "summary", "everything"] = "context",
        before: Annotated[str | None, Field(description="the cursor of an earlier answer: older turns")] = None,
        tier: _Tier = "standard",
    ) -> Reply:
        """Load a conversation: its last turns within the budget of a session, oldest first, counters and summary."""
        scope, chosen = session(session_id), View(view)
        if before is not None:
            older = await memory.conversations.before(scope, before, turns=turns or OLDER_TURNS, view=chosen)
            return _page(older, chosen)
        loaded = await memory.conversations.load(scope, turns=turns, view=chosen, tier=Tier(tier))
        reply = _page(loaded, chosen) | {"turn_count": loaded.turn_count, "token_count": loaded.token_count}
        if loaded.ended_at is not None:
            reply["ended_at"] = loaded.ended_at.isoformat(timespec="milliseconds")
        return reply if loaded.summary is None else {**reply, "summary": loaded.summary}

    async def end_session(
        session_id: str,
        summary: Annotated[str | None, Field(description="what the next conversation should know of this one")] = None,
        open_questions: Annotated[list[str] | None, Field(description="what is still to be answered or done")] = None,
        operation_id: Annotated[str | None, Field(description=_OPERATION)] = None,
    ) -> Reply:
        """End a conversation; the next load_context begins with it. Its turns stay; a later turn makes it go on."""
        ended = await memory.conversations.end(
            session(session_id), summary=summary, open_questions=open_questions or (), operation_id=operation_id
        )
        counted = {"turn_count": ended.turn_count, "token_count": ended.token_count}
        return {"status": "complete", "ended_at": ended.ended_at.isoformat(timespec="milliseconds"), **counted}

    async def load_context(max_tokens: int = 600, session_id: str | None = None) -> Reply:
        """Load the user's preferences and main facts, and the running conversation, for the next model call."""
        return (await memory.context.load(session(session_id), max_tokens=max_tokens)).to_reply()

    return [
        make_tool(load_session, returns={"turns": {"type": "array"}}, read_only=True),
        make_tool(end_session, returns={}),
        make_tool(load_context, returns={"context": {"type": "string"}}, read_only=True),
    ]


def _chat_tools(memory: Memory, identify: Identify) -> list[MemoryTool]:
    async def create_chat(agent: str, title: str | None = None, agent_version: str | None = None) -> Reply:
        """Begin the chat of the user with an agent. Fails if one is active: renew it instead."""
        chat = await memory.chats.create(identify(), agent, title=title, agent_version=agent_version)
        return {"status": "complete", "chat": _chat(chat)}

    async def active_chat(agent: str) -> Reply:
        """Tell which chat the user has with an agent; chat is null if there is none."""
        chat = await memory.chats.active(identify(), agent)
        return {"status": "complete", "chat": None if chat is None else _chat(chat)}

    async def renew_chat(agent: str) -> Reply:
        """End the active chat, which becomes history, and begin a new one, in one step."""
        return {"status": "complete", "chat": _chat(await memory.chats.renew(identify(), agent))}

    async def delete_chat(agent: str) -> Reply:
        """End the active chat. It stays in the history with the time of its deletion."""
        await memory.chats.delete(identify(), agent)
        return {"status": "complete"}

    async def set_chat_version(chat_id: str, agent_version: str) -> Reply:
        """Note which version of the agent serves a chat."""
        chat = await memory.chats.set_agent_version(identify(), chat_id, agent_version)
        return {"status": "complete", "chat": _chat(chat)}

    async def past_chats(agent: str, limit: int = 20, cursor: str | None = None) -> Reply:
        """List ended chats with an agent, newest first."""
        page = await memory.chats.past(identify(), agent, limit=limit, cursor=cursor)
        return _with_cursor({"status": "complete", "chats": [_chat(chat) for chat in page.chats]}, page.cursor)

    return [
        make_tool(create_chat, returns={}, idempotent=False),
        make_tool(active_chat, returns={}, read_only=True),
        make_tool(renew_chat, returns={}, idempotent=False),
        make_tool(delete_chat, returns={}, destructive=True),
        make_tool(set_chat_version, returns={}),
        make_tool(past_chats, returns={"chats": {"type": "array"}}, read_only=True),
    ]


def _log_tools(memory: Memory, identify: Identify) -> list[MemoryTool]:
    async def log_tool_call(
        name: str,
        duration_ms: float,
        inputs: dict[str, Any] | None = None,
        output: str = "",
        status: Literal["ok", "error", "timeout"] = "ok",
        session_id: str | None = None,
    ) -> Reply:
        """Note that a tool was called, without its secrets."""
        scope = Scope(identify().user_id, session_id)
        duration = timedelta(milliseconds=duration_ms)
        memory.tool_log.record(scope, name, inputs or {}, output, status=ToolStatus(status), duration=duration)
        is_written = await memory.tool_log.drain(LOGGED_WITHIN_SECONDS)
        return {"status": "complete"} if is_written else {"status": "complete", "pending": True}

    async def tool_log(session_id: str | None = None, limit: int = 50, cursor: str | None = None) -> Reply:
        """List the tool calls of the user, or of one session, newest first."""
        if session_id is None:
            page = await memory.tool_log.by_time(identify(), limit=limit, cursor=cursor)
        else:
            page = await memory.tool_log.by_session(identify(), session_id, limit=limit, cursor=cursor)
        status = Status.PARTIAL if page.missing else Status.COMPLETE
        reply: Reply = {"status": status.value, "calls": [_call(call) for call in page.calls]}
        if page.missing:
            reply["missing"] = list(page.missing)
        return _with_cursor(reply, page.cursor)

    return [
        make_tool(log_tool_call, returns={}, idempotent=False),
        make_tool(tool_log, returns={"calls": {"type": "array"}}, read_only=True),
    ]


def _page(loaded: LoadedSession, view: View) -> Reply:
    reply: Reply = {"status": loaded.status.value, "turns": [_turn(turn, view) for turn in loaded.turns]}
    if loaded.missing:
        reply["missing"] = list(loaded.missing)
    if loaded.partitions > 1:
        reply |= {"partitions": loaded.partitions, "answered": loaded.answered}
    return _with_cursor(reply, loaded.cursor)


def _turn(turn: Turn, view: View) -> dict[str, Any]:
    told: dict[str, Any] = {"id": turn.id, "role": turn.role.value, "content": turn.content}
    if view is not View.SUMMARY:
        told |= {"at": turn.at.isoformat(timespec="milliseconds"), "intent": turn.intent, "speaker": turn.speaker}
    if view is View.EVERYTHING:
        told |= {
            "agent": turn.agent,
            "tool_calls": list(turn.tool_calls),
            "token_count": turn.token_count,
            "importance": turn.importance,
            "page_context": turn.page_context,
            "response_id": turn.response_id,
            "source_id": turn.source_id,
            "guardrail_flags": list(turn.guardrail_flags),
        }
    return {name: value for name, value in told.items() if value not in (None, [])}


def _chat(chat: Chat) -> dict[str, Any]:
    told = {
        "id": chat.id,
        "agent": chat.agent,
        "created_at": chat.created_at.isoformat(),
        "agent_version": chat.agent_version,
        "title": chat.title,
        "deleted_at": None if chat.deleted_at is None else chat.deleted_at.isoformat(),
    }
    return {name: value for name, value in told.items() if value is not None}


def _call(call: ToolCall) -> dict[str, Any]:
    told = {
        "name": call.name,
        "status": call.status.value,
        "at": call.at.isoformat(timespec="milliseconds"),
        "duration_ms": round(call.duration / timedelta(milliseconds=1), 1),
        "inputs": call.inputs,
        "output": call.output,
        "session_id": call.session_id,
    }
    return {name: value for name, value in told.items() if value not in (None, "", {})}


def _with_cursor(reply: Reply, cursor: str | None) -> Reply:
    return reply if cursor is None else {**reply, "cursor": cursor}
