"""Every example runs as it is, and prints what it is there to show."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SHOWS = {
    "conversations.py": ["said twice:      one turn", "at hand:         20 of 31 turns", "'days': 30, 'budget': 900"],
    "facts_over_time.py": ["said again:      2 times", "in March:        Ana lives in Lisbon.", "source='confirmed'"],
    "fortnight.py": ["## Still open", "The user works at Globex.", "The user lives in Vienna.", "session 59, chloé"],
    "mcp_client.py": ["tools: recall, remember_fact", "tone: brief", "Ana is allergic to peanuts."],
}


@pytest.mark.parametrize("example", sorted(path.name for path in (ROOT / "examples").glob("*.py")))
def test_the_example_runs_and_shows_its_point(example: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / example)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    for line in SHOWS[example]:
        assert line in done.stdout
