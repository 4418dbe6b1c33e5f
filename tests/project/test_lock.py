"""The lock pins everything that the project needs, by hash, wherever it comes from."""

import itertools
import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text()


def test_every_requirement_has_a_version_and_a_hash() -> None:
    requirements = re.split(r"\n(?=\S)", LOCK.strip())

    assert [text for text in requirements if not re.match(r"[\w.-]+==.*\\\n    --hash=sha256:", text)] == []


def test_the_lock_says_nothing_about_where_packages_come_from() -> None:
    assert re.findall(r"(?:--(?:extra-)?index-url|--find-links|\w+://)\S*", LOCK) == []


def test_every_dependency_is_locked_at_a_version_it_allows() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = itertools.chain(*project["project"]["optional-dependencies"].values())
    texts = [*project["project"]["dependencies"], *extras, *project["dependency-groups"]["test"]]
    wanted = [need for need in map(Requirement, texts) if need.name != project["project"]["name"]]
    locked = dict(re.findall(r"^([\w.-]+)==(\S+)", LOCK, re.MULTILINE))

    unmet = [str(need) for need in wanted if locked.get(canonicalize_name(need.name), "") not in need.specifier]

    assert unmet == []
