"""How the command behaves as a process: pipes that break, keys that interrupt, packages that are missing."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mcp_memory_server import __version__
from tests.cli.commands import COMMAND, LISBON, SECONDS, Run, environment, run_apart

WITHOUT_BOTO3 = """\
import sys
sys.modules["boto3"] = None
from mcp_memory_server.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_it_runs_as_a_module() -> None:
    assert run_apart("--version").out == f"mcp-memory-server {__version__}\n"


@pytest.mark.parametrize("command", [["facts"], ["tables", "create"], ["tables", "describe"], ["doctor"]])
def test_a_missing_package_is_named_with_how_to_install_it(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_BOTO3, *command, "--table", "dynamodb://memory?region=eu-west-1"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    said = done.stdout + done.stderr
    assert done.returncode == (1 if command == ["doctor"] else 2)
    assert "boto3 is not installed; install it with: pip install 'mcp-agent-memory[dynamodb]'" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("memories", [1, 3000])
def test_a_reader_that_leaves_early_is_no_reason_to_complain(run: Run, tmp_path: Path, memories: int) -> None:
    lines = tmp_path / "lines"
    entity = '{"type":"entity","name":"Ana","entityType":"person","observations":["note %d"]}\n'
    lines.write_text("".join(entity % number for number in range(memories)))
    run("import", str(lines))

    with subprocess.Popen(
        [*COMMAND, "facts", "--json"], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as writing:
        assert writing.stdout
        assert writing.stderr
        writing.stdout.close()
        said = writing.stderr.read()

    assert (writing.returncode, said) == (1, "")


def test_the_first_line_of_an_export_can_be_had_alone(run: Run) -> None:
    run(*LISBON)

    piped = subprocess.run(
        f"{sys.executable} -m mcp_memory_server export | head -1",
        shell=True,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )

    assert len(piped.stdout.splitlines()) == 1
    assert "Traceback" not in piped.stderr
    assert "BrokenPipe" not in piped.stderr


def test_ctrl_c_ends_a_command_that_waits_for_input(table: Path) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*COMMAND, "import", "-"], env=environment(), stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as waiting:
        _wait_until_it_reads(waiting.pid)
        waiting.send_signal(signal.SIGINT)
        code = waiting.wait(SECONDS)
        assert waiting.stderr
        said = waiting.stderr.read()

    assert (code, said) == (130, "")


def test_ctrl_c_at_a_question_is_a_no(run: Run) -> None:
    run(*LISBON)
    keyboard, terminal = os.openpty()
    with subprocess.Popen(
        [*COMMAND, "forget-user", "ana"], env=environment(), stdin=terminal, stderr=subprocess.PIPE, text=True
    ) as asking:
        assert asking.stderr
        said = asking.stderr.read(len("This deletes everything"))
        _wait_until_it_reads(asking.pid)
        asking.send_signal(signal.SIGINT)
        code = asking.wait(SECONDS)
    os.close(keyboard)
    os.close(terminal)

    assert (code, said) == (130, "This deletes everything")
    assert len(run("facts").rows) == 1


def _wait_until_it_reads(pid: int) -> None:
    """Wait until the process waits for its standard input, which only Linux tells."""
    call = Path(f"/proc/{pid}/syscall")
    if not call.exists():
        pytest.skip("only Linux tells what a process waits for")
    deadline = time.monotonic() + SECONDS
    while not call.read_text().startswith("0 0x0 "):
        assert time.monotonic() < deadline
        time.sleep(0.02)  # until another process is ready; nothing under test is waited for
