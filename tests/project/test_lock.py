"""The lock pins everything that the project needs, by hash, wherever it comes from."""

import itertools
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
LOCK_TO_RUN = (ROOT / "requirements-run.lock").read_text()
PINNED = r"^([\w.-]+)==(\S+)"


@pytest.mark.parametrize("lock", [LOCK, LOCK_TO_RUN], ids=["everything", "to run"])
def test_every_requirement_has_a_version_and_a_hash(lock: str) -> None:
    requirements = re.split(r"\n(?=\S)", lock.strip())

    assert [text for text in requirements if not re.match(r"[\w.-]+==.*\\\n    --hash=sha256:", text)] == []


def test_the_lock_says_nothing_about_where_packages_come_from() -> None:
    assert re.findall(r"(?:--(?:extra-)?index-url|--find-links|\w+://)\S*", LOCK + LOCK_TO_RUN) == []


def test_what_the_server_needs_is_a_small_part_of_what_the_tests_need() -> None:
    to_run, everything = (set(re.findall(PINNED, lock, re.MULTILINE)) for lock in (LOCK_TO_RUN, LOCK))

    assert to_run <= everything
    assert len(to_run) < len(everything) / 2


def test_every_dependency_is_locked_at_a_version_it_allows() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = itertools.chain(*project["project"]["optional-dependencies"].values())
    groups = itertools.chain(*project["dependency-groups"].values())
    texts = [*project["project"]["dependencies"], *extras, *(text for text in groups if isinstance(text, str))]
    wanted = [need for need in map(Requirement, texts) if need.name != project["project"]["name"]]
    locked = dict(re.findall(PINNED, LOCK, re.MULTILINE))

    unmet = [str(need) for need in wanted if locked.get(canonicalize_name(need.name), "") not in need.specifier]

    assert unmet == []
