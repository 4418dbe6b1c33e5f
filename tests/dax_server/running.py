"""Running a cluster in a process of its own, and telling it what to do."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
STOP_SECONDS = 10


class DaxCluster:
    """A cluster that runs. ``node`` is the number of one node; without it all of them are meant."""

    def __init__(self, process: subprocess.Popen[str], *, scheme: str) -> None:
        self._process = process
        self._lock = threading.Lock()
        ready = json.loads(self._line())
        self.url = f"{scheme}://{'localhost' if scheme == 'daxs' else '127.0.0.1'}:{ready['port']}"
        self.ports: list[int] = ready["nodes"]

    def stop(self, node: int | None = None) -> None:
        """Refuse connections and break those that there are. What was cached stays."""
        self._tell("stop", node=node)

    def kill(self, node: int | None = None) -> None:
        """Die: like stop, and what was cached is lost."""
        self._tell("kill", node=node)

    def start(self, node: int | None = None) -> None:
        """Listen again, on the same ports."""
        self._tell("start", node=node)

    def hang(self, node: int | None = None) -> None:
        """Take requests and answer none. They are carried out after ``resume``."""
        self._tell("hang", node=node)

    def resume(self, node: int | None = None) -> None:
        self._tell("resume", node=node)

    def drop(self, replies: int, node: int | None = None) -> None:
        """Carry out the next so many calls about items, on each node, and lose their answers."""
        self._tell("drop", node=node, replies=replies)

    def lag(self, seconds: float) -> None:
        """Let the nodes know of each other's writes so much later from now on."""
        self._tell("lag", seconds=seconds)

    def advance(self, seconds: float) -> None:
        """Let what is cached grow older by so much."""
        self._tell("advance", seconds=seconds)

    def counts(self) -> Mapping[str, int]:
        """Return what happened so far: item.hits, query.misses, cluster.GET_ITEM, table.PutItem and so on."""
        return self._tell("counts")

    def reset(self) -> None:
        """Forget what is cached and what was counted."""
        self._tell("reset")

    def _tell(self, command: str, **arguments: Any) -> Any:
        assert self._process.stdin is not None
        with self._lock:
            self._process.stdin.write(json.dumps({"command": command, **arguments}) + "\n")
            self._process.stdin.flush()
            answer = json.loads(self._line())
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["answer"]

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the cluster ended; its log says why")
        return line


@contextmanager
def dax_cluster(endpoint: str, log: Path, *options: str, certificate: Path | None = None) -> Iterator[DaxCluster]:
    """Run a cluster over the DynamoDB at this endpoint. The options are those of ``python -m tests.dax_server``."""
    command = [sys.executable, "-m", "tests.dax_server", "--endpoint", endpoint, *options]
    if certificate is not None:
        command += ["--certificate", str(certificate)]
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, text=True
        )
    try:
        yield DaxCluster(process, scheme="dax" if certificate is None else "daxs")
    finally:
        process.kill()
        process.communicate(timeout=STOP_SECONDS)
