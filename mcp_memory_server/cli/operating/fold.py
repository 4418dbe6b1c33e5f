"""The command that summarizes ended sessions and folds old summaries, for a scheduler or a person."""

import argparse

from mcp_memory_server.cli.existing import open_existing
from mcp_memory_server.cli.printing import ProgressLine, print_json
from mcp_memory_server.domain.summaries.summary import LIFE
from mcp_memory_server.settings import Settings


async def fold(parsed: argparse.Namespace, settings: Settings) -> int:
    """Do the background work of a server now. Interrupting it or running it twice is harmless."""
    progress = ProgressLine("folded")
    async with open_existing(settings) as memory:
        finished = await memory.finalizer.finish_due(back=LIFE)
        folded = await memory.finalizer.fold_due(lambda done: progress.show(done.summaries))
    progress.finish()
    if parsed.json:
        print_json({"sessions": finished, "users": folded.users, "summaries": folded.summaries})
    else:
        print(f"saw to {finished:,} sessions; folded {folded.summaries:,} summaries of {folded.users:,} users")
    return 0
