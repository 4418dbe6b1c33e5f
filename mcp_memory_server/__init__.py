"""Memory for AI agents that is fast, honest, private, and never loses what it acknowledged.

async with open_memory() as memory:
    me = Scope("ana")
    await memory.facts.learn(me, Statement("Ana lives in Lisbon.", topic="personal/location/city"))
    found = await memory.recall.search(me, "Where does Ana live?")

These names are the public API: functions, inputs, errors, and the values that programs pass on. Types that are only
returned need no import; `docs/api.md` describes them too.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from mcp_memory_server.domain.context.page import ContextPage
from mcp_memory_server.domain.context.turn_memories import TurnMemories
from mcp_memory_server.domain.facts.fact import Fact, Permanence, Source, Statement
from mcp_memory_server.domain.facts.notes import NoteKind
from mcp_memory_server.domain.facts.preferences import SetBy
from mcp_memory_server.domain.kernel.scope import Owner, OwnerKind, Owners, Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.kernel.text import one_line
from mcp_memory_server.domain.recall.replies.answers import Recollection
from mcp_memory_server.domain.sessions.turns import NewTurn, Role, Turn, View
from mcp_memory_server.errors import (
    ConfigurationError,
    ConflictError,
    ForgottenError,
    InvalidRequestError,
    MemoryServerError,
    NotFoundError,
    UnavailableError,
)
from mcp_memory_server.memory import Memory
from mcp_memory_server.ports.metric_catalogue import METRICS
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.settings import Settings
from mcp_memory_server.version import __version__
from mcp_memory_server.wiring import count_tokens, open_memory
from mcp_memory_server.wiring.metrics import open_metrics

if TYPE_CHECKING:
    from mcp_memory_server.domain.conversations.tool_log import ToolStatus
    from mcp_memory_server.services.conversations.conversations import EndedSession
    from mcp_memory_server.services.summaries.resumption import ConversationSoFar
    from mcp_memory_server.tools import MEMORY_TOOLS, MemoryTool, error_reply

__all__ = [
    "MEMORY_TOOLS",
    "METRICS",
    "ConfigurationError",
    "ConflictError",
    "ContextPage",
    "ConversationSoFar",
    "EndedSession",
    "Fact",
    "ForgottenError",
    "InvalidRequestError",
    "Memory",
    "MemoryServerError",
    "MemoryTool",
    "Metrics",
    "NewTurn",
    "NotFoundError",
    "NoteKind",
    "Owner",
    "OwnerKind",
    "Owners",
    "Permanence",
    "Recollection",
    "Role",
    "Scope",
    "SetBy",
    "Settings",
    "Source",
    "Statement",
    "Status",
    "ToolStatus",
    "Turn",
    "TurnMemories",
    "UnavailableError",
    "View",
    "__version__",
    "count_tokens",
    "error_reply",
    "one_line",
    "open_memory",
    "open_metrics",
]


_LOADED_WHEN_USED = {
    "EndedSession": "mcp_memory_server.services.conversations.conversations",
    "ConversationSoFar": "mcp_memory_server.services.summaries.resumption",
    "MEMORY_TOOLS": "mcp_memory_server.tools",
    "MemoryTool": "mcp_memory_server.tools",
    "ToolStatus": "mcp_memory_server.domain.conversations.tool_log",
    "error_reply": "mcp_memory_server.tools",
}
"""Loaded on first use, to keep the import fast for programs that do not need them."""


def __getattr__(name: str) -> object:
    if name in _LOADED_WHEN_USED:
        return getattr(import_module(_LOADED_WHEN_USED[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
