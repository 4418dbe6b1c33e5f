"""Look at the tools of running agents: ``python -m agent_plugins status --help``."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from agent_plugins.breakers.status_file import read_status
from agent_plugins.breakers.status_page import process_page, shared_page
from mcp_memory_server import ConfigurationError, MemoryServerError

_EPILOG = """\
what is shown comes from running processes:
  --file PATH   a process that runs `with StatusFile(PATH, registry.status):` writes every tool there, with schema,
                health, circuit, counters and the calls under way. It says how old it is: a process that was killed
                leaves its last words behind. Name several files to see several processes.
  --redis URL   workers that share circuits (`RedisCircuits(URL)`) tell each other there what is open; counters are
                those of each process, and are not in it.

examples:
  python -m agent_plugins status --file /run/agents/1.json
  python -m agent_plugins status --redis redis://localhost:6379/0 --json
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit code: 0, 1 if it could not be looked up, 2 if it was typed wrongly."""
    parser = argparse.ArgumentParser(prog="python -m agent_plugins", description="Look at the tools of running agents.")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    status = commands.add_parser(
        "status",
        help="show tools, their health and circuits, and the calls under way",
        description="Show tools, their health and circuits, and the calls under way.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    status.add_argument("--file", action="append", default=[], metavar="PATH", help="the status file of a process")
    status.add_argument("--redis", metavar="URL", help="the Redis through which workers share their circuits")
    status.add_argument("--space", help="the name that these circuits go by in Redis, if it is not the usual one")
    status.add_argument("--json", action="store_true", help="for programs")
    chosen = parser.parse_args(arguments)
    if not chosen.file and not chosen.redis:
        status.error("name where to look: --file PATH, --redis URL, or both")
    try:
        _show(_looked_up(chosen), as_json=chosen.json)
    except MemoryServerError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _looked_up(chosen: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {"processes": [read_status(path) for path in chosen.file]}
    if chosen.redis:
        found["shared_circuits"] = _shared(chosen.redis, chosen.space)
    return found


def _shared(url: str, space: str | None) -> Any:
    try:
        from agent_plugins.breakers.redis_circuits import SPACE, shared_circuits
    except ModuleNotFoundError as error:
        raise ConfigurationError("--redis needs a package: pip install 'mcp-agent-memory[redis]'") from error
    return shared_circuits(url, space=space or SPACE)


def _show(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(found, ensure_ascii=False, indent=2))  # noqa: T201
        return
    pages = [process_page(status) for status in found["processes"]]
    if "shared_circuits" in found:
        pages.append("shared by workers\n" + shared_page(found["shared_circuits"]))
    print("\n\n".join(pages))  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
