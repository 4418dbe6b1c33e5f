"""Commands for the table itself."""

import argparse

from mcp_memory_server import wiring
from mcp_memory_server.cli.printing import confirmed, print_json, print_table, say
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.settings import Settings


async def create(_parsed: argparse.Namespace, settings: Settings) -> int:
    """Create the table and wait for it."""
    description = await wiring.create_table(settings, say)
    print(f"ready: {description['name']} in {description['region']}")
    return 0


async def describe(parsed: argparse.Namespace, settings: Settings) -> int:
    """Describe the table."""
    description = await wiring.describe_table(settings)
    if parsed.json:
        print_json(description)
    else:
        rows = [
            [name.replace("_", " "), "unknown" if value is None else str(value)] for name, value in description.items()
        ]
        print_table(["what", "value"], rows, "")
    return 0


async def delete(parsed: argparse.Namespace, settings: Settings) -> int:
    """Delete the table with everything in it."""
    question = f"This deletes {settings.table!r} with the memories of all its users. Type delete to go on:"
    if not parsed.yes and not confirmed(question, "delete"):
        raise InvalidRequestError("nothing was deleted: type delete when asked, or pass --yes")
    await wiring.delete_table(settings, say)
    print("deleted")
    return 0
