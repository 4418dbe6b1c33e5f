"""The command line."""

import argparse
import asyncio
import json
import logging
import os
import re
import sys
from collections.abc import Sequence

from mcp_memory_server.cli.parser import build_parser, settings_from
from mcp_memory_server.errors import (
    ConfigurationError,
    ConflictError,
    ForgottenError,
    InvalidRequestError,
    MemoryServerError,
    NotFoundError,
)
from mcp_memory_server.server.call_ids import new_call_id

WRONG_USAGE = 2
FAILED = 1
INTERRUPTED = 130

_ARGUMENTS = "source|confidence|permanence|topic|replaces|since|until|remind_on|as_of|max_tokens|cursor"
"""Arguments of services and tools that are options of commands."""


class NothingSavedYetError(NotFoundError):
    """The default file does not exist yet."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    parsed = build_parser().parse_args(arguments)
    try:
        settings = settings_from(parsed)
        # The level is that of our own loggers: at DEBUG, botocore prints the body of every request.
        logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
        logging.getLogger("mcp_memory_server").setLevel(settings.log_level)
        code = asyncio.run(parsed.command(parsed, settings))
        sys.stdout.flush()  # here, where a failure can still be reported
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()  # the reader closed the pipe
        return FAILED
    except OSError as error:
        _drop_output()
        print(f"mcp-memory-server: {error.strerror or type(error).__name__}", file=sys.stderr)
        return FAILED
    except NothingSavedYetError as error:
        return _report_nothing(error, parsed)
    except MemoryServerError as error:
        return _report(error)
    return code


def in_words_of_the_command_line(message: str) -> str:
    """Return the message of a service with options in place of its arguments: ``--source confirmed``."""
    message = re.sub(rf"\b({_ARGUMENTS})='([^']*)'", lambda found: f"{_option(found[1])} {found[2]}", message)
    message = re.sub(rf"\b({_ARGUMENTS})=(?=[\w-])", lambda found: f"{_option(found[1])} ", message)
    named = rf"(^|Leave |must not be before )({_ARGUMENTS})(?=,? (?:must|out|got)\b)"
    message = re.sub(named, lambda found: found[1] + _option(found[2]), message)
    return message.replace("repeat the call with", "repeat the command with")


def _option(argument: str) -> str:
    return f"--{argument.replace('_', '-')}"


def _report(error: MemoryServerError) -> int:
    error_text = in_words_of_the_command_line(str(error))
    if isinstance(error, InvalidRequestError | ConfigurationError):
        print(f"mcp-memory-server: {error_text}", file=sys.stderr)
        return WRONG_USAGE
    if isinstance(error, NotFoundError | ConflictError | ForgottenError):
        print(f"mcp-memory-server: {error_text}", file=sys.stderr)
        return FAILED
    # Standard error is the log of a scheduled command: the id is what an operator searches it for.
    print(f"mcp-memory-server: {error_text} (call {new_call_id()})", file=sys.stderr)
    return FAILED


def _report_nothing(error: NothingSavedYetError, parsed: argparse.Namespace) -> int:
    """Report that nothing is saved yet: for a command that lists this is a result, for any other an error."""
    nothing = getattr(parsed, "nothing", None)
    if nothing is None:
        print(f"mcp-memory-server: {error}", file=sys.stderr)
        return FAILED
    print(error, file=sys.stderr)
    if parsed.json:
        print(json.dumps(nothing))
    return 0


def _drop_output() -> None:
    # Python tries once more when it ends, and would complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
