"""When there is no room left to write, the model is told so, reading goes on, and nothing earlier is harmed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from mcp_memory_server import Settings, open_memory
from tests.server.asking import ANA, ask
from tests.server.processes import environment, over_stdio

pytestmark = pytest.mark.anyio

LARGEST_FILE = 300_000
MORE_THAN_FITS = 400
LIMITED = """\
import resource, runpy
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
runpy.run_module("mcp_memory_server", run_name="__main__", alter_sys=True)
"""


def note(number: int) -> str:
    return f"Note {number}: " + "Ana wrote this down. " * 100


async def fill(client: Client) -> tuple[list[str], dict[str, str]]:
    """Remember until there is no room; return what was acknowledged, and the first refusal."""
    acknowledged: list[str] = []
    for number in range(MORE_THAN_FITS):
        result = await client.call_tool("remember_fact", {"fact": note(number)})
        if result.is_error:
            return acknowledged, result.structured_content or {}
        acknowledged.append(note(number).strip())
    raise AssertionError("it never became full")


async def assert_reading_goes_on(client: Client, acknowledged: list[str]) -> None:
    found = await ask(client, "recall", query="Note", max_tokens=20_000)
    page = await ask(client, "load_context", max_tokens=20_000)
    assert len(found["memories"]) + found.get("more", 0) == len(acknowledged)
    assert "Ana wrote this down." in page["context"]


async def texts_in(table: Path) -> list[str]:
    async with open_memory(Settings(table=f"sqlite://{table}")) as memory:
        return [fact.text for fact in await memory.facts.all(ANA)]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of a file")
async def test_a_file_that_may_not_grow_refuses_new_facts_and_keeps_the_old_ones(memory_file: Path) -> None:
    program = LIMITED.format(size=LARGEST_FILE)
    server = StdioServerParameters(command=sys.executable, args=["-c", program], env=environment(memory_file))

    async with Client(server) as client:
        acknowledged, refusal = await fill(client)
        await assert_reading_goes_on(client, acknowledged)

    assert (refusal["status"], refusal["error"]) == ("unavailable", "unavailable")
    assert "internal error" not in refusal["message"]
    assert sorted(await texts_in(memory_file)) == sorted(acknowledged)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte, where the tests may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if (
        sys.platform != "linux"
        or os.geteuid() != 0
        or subprocess.run(mount, capture_output=True, check=False).returncode
    ):
        pytest.skip("only root on Linux can mount a small disk")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


async def test_a_full_disk_is_named_and_room_made_later_is_used(small_disk: Path) -> None:
    table, ballast = small_disk / "memory.db", small_disk / "ballast"
    ballast.write_bytes(bytes(200_000))

    async with Client(over_stdio(table)) as client:
        acknowledged, refusal = await fill(client)
        await assert_reading_goes_on(client, acknowledged)
        ballast.unlink()
        later = await ask(client, "remember_fact", fact="Ana made room.")

    assert refusal["status"] == "unavailable"
    assert "no room left" in refusal["message"]
    assert later["outcome"] == "learned"
    assert sorted(await texts_in(table)) == sorted([*acknowledged, "Ana made room."])
