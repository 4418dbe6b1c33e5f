"""The fault matrix in its short form: every kind of fault a few times, and a random mix for some seconds."""

import subprocess
import sys

import pytest

from tests.faults.clients import ROOT

SECONDS = 1200


@pytest.mark.slow
@pytest.mark.timeout(SECONDS)
def test_no_fault_loses_duplicates_or_crosses_anything() -> None:
    command = [sys.executable, "-m", "tests.faults.matrix", "--short"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=SECONDS)

    assert done.returncode == 0, done.stdout + done.stderr
