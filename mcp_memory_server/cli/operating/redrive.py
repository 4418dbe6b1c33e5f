"""The command for dead letters: acknowledged turns that the table rejected."""

import argparse

from mcp_memory_server.cli import FAILED
from mcp_memory_server.cli.existing import open_existing
from mcp_memory_server.cli.printing import ProgressLine, print_json, print_table, say
from mcp_memory_server.domain.sessions.queued_turns import DeadLetter
from mcp_memory_server.memory import Memory
from mcp_memory_server.settings import Settings


async def redrive(parsed: argparse.Namespace, settings: Settings) -> int:
    """List the dead letters, or replay them. 0 if none is left, 1 if the table refused one again."""
    async with open_existing(settings) as memory:
        return await (_list(memory, parsed) if parsed.list else _replay(memory, parsed))


async def _list(memory: Memory, parsed: argparse.Namespace) -> int:
    letters, count = await memory.redrive.letters(most=parsed.limit), await memory.redrive.count()
    if parsed.json:
        print_json({"count": count, "letters": [_values(letter) for letter in letters]})
        return 0
    rows = [
        [letter["died_at"], letter["user"], letter["session"], letter["turn"], letter["reason"]]
        for letter in map(_values, letters)
    ]
    print_table(["DIED AT", "USER", "SESSION", "TURN", "REASON"], rows, "no dead letters")
    if count > len(letters):
        say(f"{count - len(letters):,} more; --limit shows them")
    return 0


async def _replay(memory: Memory, parsed: argparse.Namespace) -> int:
    progress, count = ProgressLine("replayed"), await memory.redrive.count()
    redriven = await memory.redrive.replay(lambda done: progress.show(done, max(done, count)))
    progress.finish()
    refused = [{**_values(letter), "reason": reason} for letter, reason in redriven.refused]
    if parsed.json:
        print_json({"delivered": redriven.delivered, "refused": refused})
    else:
        print(f"delivered {redriven.delivered:,}, refused again {len(refused):,}")
        for letter in refused:
            print(f"  {letter['turn']} of {letter['user']!r}: {letter['reason']}")
    return FAILED if refused else 0


def _values(letter: DeadLetter) -> dict[str, str]:
    # Never what was said in the turn: a list is copied into tickets and chats.
    return {
        "died_at": letter.died_at.isoformat(timespec="seconds"),
        "user": letter.queued.scope.user_id,
        "session": letter.queued.scope.session_id or "",
        "turn": letter.queued.turn.id,
        "reason": letter.reason,
    }
