"""The arguments of the command line. Each command names the function that runs it."""

import argparse
import difflib
import importlib
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

from pydantic import ValidationError

from mcp_memory_server.errors import ConfigurationError
from mcp_memory_server.settings import AUTO, Settings, read_settings
from mcp_memory_server.version import __version__

Command = Callable[[argparse.Namespace, Settings], Awaitable[int]]

DEFAULT_PORT = 8765

_ATTACH = """\
attach it to a client, for example:
  mcp-memory-server attach claude-desktop
  mcp-memory-server attach claude-code

settings, from the environment:
  MCP_MEMORY_TABLE         where memory is kept: sqlite:///path/to/file (default: a file in your data folder)
                           or dynamodb://table?region=eu-west-1
                           or dax://cluster:8111/table?region=eu-west-1
  MCP_MEMORY_SESSIONS      where running sessions are cached: redis://host:6379/0 or none (default)
  MCP_MEMORY_ACKNOWLEDGE   when a turn is acknowledged: in the table (default), or already in the outbox
  MCP_MEMORY_OUTBOX        where turns wait for the table: sqlite: (default), redis: (that of the sessions) or none
  MCP_MEMORY_DEAD_LETTERS  where turns go that the table rejects: sqlite: (default) or sqs://queue?region=…
  MCP_MEMORY_EMBEDDINGS    which model compares meanings: built-in (default), static, none, model2vec:///folder,
                           onnx:///folder or bedrock://MODEL?region=…
  MCP_MEMORY_VECTOR_INDEX  a vector index of the DynamoDB table that is searched too: its name, or none (default)
  MCP_MEMORY_SUMMARIZER    what sums sessions up: built-in (default), anthropic:MODEL, bedrock://MODEL?region=… or none
  MCP_MEMORY_SPENDING      what models may cost in a day: dollars=10,user-dollars=0.10 (default), tokens=…, or none
  MCP_MEMORY_PRICES        what models cost: MODEL=INPUT/OUTPUT, in dollars for a million tokens
  MCP_MEMORY_USER          whose memory it is (default: your account's name)
  MCP_MEMORY_PROJECT       a memory of its own for a project: auto (the Git repository of the folder in which the
                           client starts this), a name or none (default)
  MCP_MEMORY_AGENT, MCP_MEMORY_TEAM, MCP_MEMORY_SHARED
                           the memories of an agent and of a team, and shared knowledge, that are used too: names
  MCP_MEMORY_NEW_FACTS     where new facts go: user, agent, project or team (default: agent or project, else user)
  MCP_MEMORY_AUTH          who verifies tokens over HTTP: tokens: (those of `mcp-memory-server token`), or an issuer,
                           https://login.example/?audience=https://memory.example/mcp (default: a token of this machine)
  MCP_MEMORY_HOSTS         the names of the HTTP server: memory.example,memory.example:8443 (default: this machine's)
  MCP_MEMORY_CALLS_PER_SECOND, MCP_MEMORY_RECORDS_PER_DAY
                           the share of each user of an HTTP server with MCP_MEMORY_AUTH (default: 25, 20000)
  MCP_MEMORY_AUDIT         where a line about every write goes: stderr, /path/to/file or none (default)
  MCP_MEMORY_LOG_LEVEL     DEBUG, INFO, WARNING (default) or ERROR
"""

_IMPORTS = """\
what is recognised:
  an export of this server        mcp-memory-server export
  Claude, ChatGPT                 the zip file of a data export, or its conversations.json
  server-memory                   memory.json
  mem0                            what get_all() returns, or an export of the platform, as JSON
  mcp-memory-service              its database file, or its export as JSON
  claude-mem                      claude-mem.db, or its export as JSON
  basic-memory, Obsidian          a folder of Markdown, or a zip file of one
  MEMORY.md, CLAUDE.md            any Markdown file
  DynamoDB                        dynamodb://table?region=eu-west-1, or a scan or export as JSON: session tables,
                                  user memories, Agent Squad, strands-dynamodb-storage
"""


class _Parser(argparse.ArgumentParser):
    """Reports wrong usage in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {_hinted(message)}; see {self.prog} --help\n")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser. Without a command it serves the client that started the process."""
    parser = _Parser(
        prog="mcp-memory-server",
        description="Memory for AI agents. Without a command: serve the client that started this, over stdio.",
        epilog=_ATTACH,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"mcp-memory-server {__version__}")
    parser.set_defaults(
        command=_lazily("serve", "serve"), http=False, tools="memory", hooks=False, metrics=False, no_auth=False
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    serve = _command(commands, "serve", "serve", "serve", "serve MCP clients over stdio, or over HTTP")
    serve.add_argument(
        "--tools",
        choices=["memory", "conversation"],
        default="memory",
        help="conversation adds turns and chats to memory",
    )
    serve.add_argument("--hooks", action="store_true", help="also answer the hooks of a coding agent's plugin")
    serve.add_argument("--http", action="store_true", help="serve streamable HTTP instead of stdio")
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    serve.add_argument("--port", type=_port, default=DEFAULT_PORT, help="the port to listen on (default: %(default)s)")
    serve.add_argument(
        "--no-auth",
        action="store_true",
        help="with --http on this machine: need no token, so that every account and program here can use the memory",
    )
    serve.add_argument("--metrics", action="store_true", help="with --http: show metrics to Prometheus at /metrics")

    _add_attach_commands(commands)
    doctor = _command(
        commands, "doctor", "operating.doctor", "doctor", "check settings, engine and permissions; try a memory"
    )
    _json(doctor)
    repair = _command(
        commands, "repair", "operating.repair", "repair", "show what is damaged, and save what can be saved of it"
    )
    repair.add_argument("--apply", action="store_true", help="do it; the damaged file is kept under another name")
    _json(repair)
    _add_memory_commands(commands)
    _add_conversation_commands(commands)
    _add_transfer_commands(commands)

    hook = _command(commands, "hook", "hook", "hook", "answer a hook of a coding agent; its plugin calls this")
    hook.add_argument("event", choices=["session-start", "prompt", "stop", "session-end"])
    hook.add_argument("--wait", action="store_true", help="finish session-end before returning, not in the background")

    _add_token_commands(commands)

    isolation = _command(
        commands,
        "verify-isolation",
        "operating.verify_isolation",
        "verify",
        "check that no user reaches another's memory here",
    )
    _json(isolation)

    redrive = _command(commands, "redrive", "operating.redrive", "redrive", "replay turns that the table rejected")
    redrive.add_argument("--list", action="store_true", help="only show them")
    redrive.add_argument("--limit", type=int, default=100, help="how many to show (default: %(default)s)")
    _json(redrive, nothing={"count": 0, "letters": []})

    fold = _command(commands, "fold", "operating.fold", "fold", "sum up sessions that are over, and fold old summaries")
    _json(fold, nothing={"sessions": 0, "users": 0, "summaries": 0})

    tables = commands.add_parser("tables", help="make, describe or delete the DynamoDB table")
    actions = tables.add_subparsers(title="actions", metavar="ACTION", required=True)
    _command(
        actions, "create", "operating.tables", "create", "make the table as it should be in production, and wait for it"
    )
    _json(_command(actions, "describe", "operating.tables", "describe", "describe the table"))
    delete = _command(actions, "delete", "operating.tables", "delete", "delete the table with everything in it")
    delete.add_argument("--yes", action="store_true", help="do not ask")
    return parser


def settings_from(parsed: argparse.Namespace) -> Settings:
    """Return the settings of the environment, overridden by the arguments.

    Raises:
        ConfigurationError: One of them is wrong.
    """
    typed = {name: getattr(parsed, name) for name in ("table", "user") if getattr(parsed, name, None) is not None}
    try:
        read = read_settings()
        if _is_for_a_coding_agent(parsed) and "project" not in read.model_fields_set:
            read = read.model_copy(update={"project": AUTO})
        return Settings(**{**read.model_dump(), **typed})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ConfigurationError(f"--{first['loc'][0]}: {first['msg'].removeprefix('Value error, ')}") from None


def _is_for_a_coding_agent(parsed: argparse.Namespace) -> bool:
    """Return whether the plugin of a coding agent started this: it works in repositories."""
    return hasattr(parsed, "event") or bool(getattr(parsed, "hooks", False) and not parsed.http)


def _add_attach_commands(commands: Any) -> None:
    attach = _command(commands, "attach", "attach", "attach", "add the memory to a client, or list the clients")
    attach.add_argument(
        "client", nargs="?", help="claude-desktop, claude-code, cursor, vscode, codex, windsurf or zed (default: list)"
    )
    attach.add_argument("--print", action="store_true", help="only print what the client's file needs")
    attach.add_argument(
        "--http", metavar="URL", help="a server that runs already, http://127.0.0.1:8765/mcp, instead of starting one"
    )
    attach.add_argument("--token", help="with --http: the token (default: this machine's, if the server is here)")
    _json(attach)

    detach = _command(commands, "detach", "attach", "detach", "remove the memory from a client; what it knows stays")
    detach.add_argument("client", help="as `attach` lists it")
    for parser in (attach, detach):
        parser.add_argument("--name", default="memory", help="the name of the server there (default: %(default)s)")
        parser.add_argument("--dry-run", action="store_true", help="only show what would change in the client's file")


def _add_token_commands(commands: Any) -> None:
    token = commands.add_parser("token", help="create, list or revoke tokens for MCP_MEMORY_AUTH=tokens:")
    actions = token.add_subparsers(title="actions", metavar="ACTION", required=True)
    create = _command(actions, "create", "operating.token", "create", "make a token for the user, and print it once")
    create.add_argument("--name", default="", help="what it is for, to recognise it in the list")
    create.add_argument(
        "--permissions",
        default="read,write,forget",
        help="of read, write, forget, operate (see metrics) and act-for (name users) (default: %(default)s)",
    )
    create.add_argument("--days", type=int, help="for how many days it is valid (default: until it is revoked)")
    _json(create)
    _json(_command(actions, "list", "operating.token", "list_", "list the tokens, without their secrets"))
    revoke = _command(actions, "revoke", "operating.token", "revoke", "refuse a token from now on")
    revoke.add_argument("id", help="as `token list` shows it")


def _add_memory_commands(commands: Any) -> None:
    facts = _command(commands, "facts", "memories", "facts", "list what is known, all of it or below a topic")
    _in(facts)
    facts.add_argument("topic", nargs="?", help="for example personal/; with --history a single topic, or an id")
    facts.add_argument("--history", action="store_true", help="also what was true before")
    _json(facts, nothing=[])

    preferences = _command(commands, "preferences", "memories", "preferences", "list all preferences, or set one")
    preferences.add_argument("key", nargs="?", help="the preference to set")
    preferences.add_argument("value", nargs="?", help="its new value")
    _json(preferences, nothing=[])

    recall = _command(commands, "recall", "memories", "recall", "search what is known")
    _in(recall)
    recall.add_argument("query", help="a question, or words to look for")
    recall.add_argument("--max-tokens", type=int, default=800, help="how long the answer may be (default: %(default)s)")
    recall.add_argument("--topic", help="search only below this topic")
    recall.add_argument("--as-of", metavar="DATE", help="what was true then, for example 2026-03-02")
    recall.add_argument("--explain", action="store_true", help="show what each score is made of")
    recall.add_argument("--cursor", help="go on where an earlier answer to the same question ended")
    _json(recall, nothing={"status": "complete", "memories": []})

    remember = _command(commands, "remember", "memories", "remember", "save a fact")
    _in(remember)
    remember.add_argument("fact", help="one self-contained sentence")
    remember.add_argument("--topic", help="for example personal/location/city")
    remember.add_argument(
        "--replaces",
        metavar="ID",
        action="append",
        help='a fact that is no longer true, once for each; the word "topic" means what is known under the same topic',
    )
    remember.add_argument("--since", metavar="DATE", help="the first day on which it is true, for example 2026-03")
    remember.add_argument("--until", metavar="DATE", help="the last day on which it is true, for example 2026-03-02")
    remember.add_argument("--remind-on", metavar="DATE", help="when the user wants to be reminded of it")
    remember.add_argument("--permanence", choices=["permanent", "durable", "transient"])
    remember.add_argument(
        "--source", choices=["user_stated", "confirmed", "imported", "inferred"], default="user_stated"
    )
    remember.add_argument("--confidence", type=float, help="over 0 and at most 1")
    _json(remember)

    end = _command(commands, "end", "memories", "end", "note that a fact is true no longer; it stays as history")
    _in(end)
    end.add_argument("id", help="as `recall` and `facts` show it")
    end.add_argument("--until", metavar="DATE", help="the last day on which it is true (default: until now)")
    _json(end)

    forget = _command(commands, "forget", "memories", "forget", "delete a memory for good")
    _in(forget)
    forget.add_argument("id", help="as `recall` and `facts` show it")
    forget.add_argument("--dry-run", action="store_true", help="show what would go, and change nothing")
    forget.add_argument(
        "--fact-only",
        action="store_true",
        help="leave the turns, summaries and logged calls that say the same as they are",
    )
    _json(forget)


def _add_conversation_commands(commands: Any) -> None:
    sessions = _command(
        commands, "sessions", "conversations", "sessions", "list conversations, with their length and times"
    )
    _limit(sessions, 100)
    _json(sessions, nothing=[])

    turns = _command(commands, "turns", "conversations", "turns", "show the last turns of a conversation")
    turns.add_argument("session", help="its id, as `sessions` shows it")
    _limit(turns, 20)
    _json(turns, nothing=[])

    chats = _command(commands, "chats", "conversations", "chats", "list active chats, or past ones with an agent")
    chats.add_argument("agent", nargs="?", help="also the past chats with this agent")
    _limit(chats, 20)
    _json(chats, nothing=[])

    log = _command(commands, "tool-log", "conversations", "tool_log", "list calls of tools, newest first")
    log.add_argument("session", nargs="?", help="only those of this conversation")
    _limit(log, 50)
    _json(log, nothing=[])


def _limit(parser: argparse.ArgumentParser, default: int) -> None:
    parser.add_argument("--limit", type=int, default=default, help="how many at most (default: %(default)s)")


def _add_transfer_commands(commands: Any) -> None:
    export = _command(commands, "export", "transfer", "export", "write everything of the user as JSON Lines")
    export.add_argument("file", nargs="?", default="-", help="where to (default: standard output)")
    export.add_argument("--all", action="store_true", help="everything of all users, for an operator")
    export.add_argument("--markdown", action="store_true", help="a page for people instead, which cannot be imported")
    export.add_argument("--resume", action="store_true", help="continue an export to this file that was interrupted")
    export.add_argument("--force", action="store_true", help="overwrite the file if it exists")

    import_ = _command(commands, "import", "transfer", "import_", "add memories from an export or another program")
    import_.epilog = _IMPORTS
    import_.formatter_class = argparse.RawDescriptionHelpFormatter
    import_.add_argument("file", help="a file, a folder, the address of a table, or - for standard input")
    import_.add_argument("--dry-run", action="store_true", help="show what would be added, and write nothing")
    import_.add_argument("--owner", metavar="NAME", help="whose memories to take from a table of several users")
    import_.add_argument("--all", action="store_true", help="add what an export holds to the users that it names")
    import_.add_argument(
        "--transcript", action="store_true", help="the file holds conversations: session, text, speaker, date, id"
    )
    _json(import_)

    sync = _command(commands, "sync", "sync", "sync", "keep a Markdown file such as MEMORY.md in step with the memory")
    sync.add_argument("file", help="the file; what is known is in a section of it, and everything else stays")
    sync.add_argument("--lines", type=int, default=150, help="the most facts in it, the newest (default: 150)")
    sync.add_argument("--dry-run", action="store_true", help="print the file instead of writing it")
    _json(sync)

    completion = _command(commands, "completion", "completion", "completion", "print a script that completes commands")
    completion.add_argument("shell", choices=["bash", "zsh", "fish"])

    forget_user = _command(commands, "forget-user", "transfer", "forget_user", "delete everything of a user")
    forget_user.add_argument("name", help="the user whose memory is to go")
    forget_user.add_argument("--yes", action="store_true", help="do not ask")


def _command(commands: Any, name: str, module: str, function: str, summary: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}."
    )
    parser.add_argument("--table", metavar="URL", help="instead of MCP_MEMORY_TABLE")
    parser.add_argument("--user", metavar="NAME", help="instead of MCP_MEMORY_USER")
    parser.set_defaults(command=_lazily(module, function))
    return parser


def _lazily(module: str, function: str) -> Command:
    """Return a command whose module is loaded when it runs: a client on stdio does not wait for the others."""

    def run(parsed: argparse.Namespace, settings: Settings) -> Awaitable[int]:
        command: Command = getattr(importlib.import_module(f"mcp_memory_server.cli.{module}"), function)
        return command(parsed, settings)

    return run


def _in(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--in",
        dest="owner",
        metavar="OWNER",
        help="only in the memory of this owner: user, agent:NAME, project:NAME, team:NAME or shared:NAME",
    )


def _json(parser: argparse.ArgumentParser, *, nothing: Any = None) -> None:
    """Add --json; ``nothing`` is the output while nothing has been saved yet."""
    parser.add_argument("--json", action="store_true", help="print JSON for programs instead of a table")
    parser.set_defaults(nothing=nothing)


def _port(text: str) -> int:
    if not text.isdigit() or not 0 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535, got {text!r}")
    return int(text)


def _hinted(message: str) -> str:
    """Return the message of argparse, with a guess in place of a long list of choices."""
    head, _, choices = message.partition(" (choose from ")
    if not choices:
        return message
    wrong = head.rpartition("invalid choice: ")[2].strip("'")
    names = [choice.strip(" ')") for choice in choices.split(",")]
    close = difflib.get_close_matches(wrong, names, n=1)
    return f"unknown {wrong!r}" + (f", did you mean {close[0]!r}?" if close else f", choose from {', '.join(names)}")
