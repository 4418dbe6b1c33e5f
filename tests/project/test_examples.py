"""Every example runs as it is, and prints what it is there to show."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SHOWS = {
    "conversations.py": ["appended twice:  one turn", "loaded:          20 of 31 turns", "'days': 30, 'budget': 900"],
    "facts_over_time.py": ["repeated:        2 times", "in March:        Ana lives in Lisbon.", "source='confirmed'"],
    "fortnight.py": ["## Still open", "The user works at Globex.", "The user lives in Vienna.", "session 59, chloé"],
    "langgraph_store.py": ["('ana', 'food') breakfast", "Miso is Ana's grey cat."],
    "openai_session.py": ["monday:   I see 1 items.", "tuesday:  I see 3 items."],
    "pydantic_ai_agent.py": ["<memory", "Ana is allergic to peanuts."],
    "mcp_client.py": ["tools: recall, remember_fact", "tone: brief", "Ana is allergic to peanuts."],
}


PRINTED = dict(
    re.findall(r"^## (\w+\.py)\n.*?^```text\n(.*?)^```", (ROOT / "examples" / "README.md").read_text(), re.M | re.S)
)


def examples() -> list[str]:
    """Return the examples that can be run: all but the scripted models."""
    return sorted(path.name for path in (ROOT / "examples").glob("*.py") if not path.name.startswith("scripted_"))


def without_nonces(text: str) -> str:
    """Return the text without what is made anew for each block of a prompt."""
    return re.sub(r'id="[0-9a-f]{6}"', 'id="…"', text).rstrip()


@pytest.mark.parametrize("example", examples())
def test_the_example_runs_and_prints_what_it_is_there_to_show(example: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / example)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    if example in PRINTED:
        assert without_nonces(done.stdout) == without_nonces(PRINTED[example])
    for line in SHOWS[example] if example not in PRINTED else ():
        assert line in done.stdout
