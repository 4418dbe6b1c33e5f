"""Memory: everything that can be done with it, in one value."""

from dataclasses import dataclass

from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.services.archive import Archive
from mcp_memory_server.services.chats import Chats
from mcp_memory_server.services.context import Context
from mcp_memory_server.services.conversations import Conversations
from mcp_memory_server.services.erasure import Erasure
from mcp_memory_server.services.facts import Facts
from mcp_memory_server.services.notes import Notes
from mcp_memory_server.services.preferences import Preferences
from mcp_memory_server.services.recall import Recall
from mcp_memory_server.services.tool_log import ToolLog


@dataclass(frozen=True)
class Memory:
    """The services over one table. Every call names the `Scope` whose memory it is about."""

    facts: Facts
    preferences: Preferences
    notes: Notes
    recall: Recall
    context: Context
    conversations: Conversations
    chats: Chats
    tool_log: ToolLog
    erasure: Erasure
    archive: Archive
    table: ItemTable
