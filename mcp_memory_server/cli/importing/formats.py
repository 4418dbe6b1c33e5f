"""The formats that an import recognises, in the order in which they are tried."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mcp_memory_server.cli.importing import chats, dynamodb, notes, servers
from mcp_memory_server.cli.importing.entries import Entry
from mcp_memory_server.cli.importing.sources import Source
from mcp_memory_server.errors import InvalidRequestError


@dataclass(frozen=True)
class Format:
    """A format: what it is called, how it is recognised, and how it is read (for the user with this name)."""

    title: str
    recognises: Callable[[Source], bool]
    read: Callable[[Source, str | None], Iterator[Entry]]


def _of_one_user(read: Callable[[Source], Iterator[Entry]]) -> Callable[[Source, str | None], Iterator[Entry]]:
    return lambda source, _owner: read(source)


_ANY = (
    Format("data export of Claude", chats.is_claude, _of_one_user(chats.claude)),
    Format("data export of ChatGPT", chats.is_chatgpt, _of_one_user(chats.chatgpt)),
)
_DOCUMENTS = (
    *_ANY,
    Format("items of a DynamoDB table", dynamodb.is_dynamodb, dynamodb.dynamodb),
    Format("file of server-memory", servers.is_server_memory, _of_one_user(servers.server_memory)),
    Format("memories of mcp-memory-service", servers.is_memory_service, _of_one_user(servers.memory_service)),
    Format("memories of claude-mem", servers.is_claude_mem, _of_one_user(servers.claude_mem)),
    Format("memories of mem0", servers.is_mem0, _of_one_user(servers.mem0)),
)
_FOLDERS = (
    *_ANY,
    Format("notes of basic-memory", notes.is_basic_memory, _of_one_user(notes.notes)),
    Format("Markdown notes", notes.is_notes, _of_one_user(notes.notes)),
)
_DATABASES = tuple(one for one in _DOCUMENTS if one.title.endswith(("mcp-memory-service", "claude-mem")))


def is_own_export(source: Source) -> bool:
    """Check whether it is JSON Lines that this server exported, or begins like them."""
    if source.name.startswith(dynamodb.SCHEME) or source.is_folder or source.is_archive or source.is_database:
        return False
    first = next((line for line in source.beginning.split("\n") if line.strip()), "")
    return any(word in first[:200] for word in ('"format"', '"kind"')) and first.startswith("{")


def format_of(source: Source) -> Format:
    """Return the format of the input.

    Raises:
        InvalidRequestError: It is none that is known.
    """
    for one in _candidates(source):
        if one.recognises(source):
            return one
    raise InvalidRequestError(_unknown(source))


def _unknown(source: Source) -> str:
    begins = "" if source.is_folder or source.is_archive or source.is_database else source.text.lstrip()[:1]
    if begins and begins in "{[" and source.document is None and not source.records:
        return f"{source.name!r}: line 1 is not JSON, and the file as a whole is not either"
    return (
        f"{source.name!r} is neither an export of this server nor of a program that `import` knows; "
        "see `mcp-memory-server import --help`"
    )


def _candidates(source: Source) -> tuple[Format, ...]:
    if source.name.startswith(dynamodb.SCHEME):
        return _DOCUMENTS[2:3]
    if source.is_folder or source.is_archive or source.path.suffix.lower() in (".md", ".markdown"):
        return _FOLDERS
    return _DATABASES if source.is_database else _DOCUMENTS
