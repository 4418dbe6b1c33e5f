"""The bill of materials names every package that an installation gets, with the hashes of the lock."""

import re
from importlib.metadata import requires

from tests.project.sbom import LOCK, sbom


def test_every_locked_package_is_listed_with_its_hashes() -> None:
    lock = LOCK.read_text()

    components = sbom(lock)["components"]

    assert [f"{one['name']}=={one['version']}" for one in components] == re.findall(
        r"^[^ #\n]+==[^ ;\\\n]+", lock, re.M
    )
    assert sum(len(one["hashes"]) for one in components) == lock.count("--hash=sha256:")
    assert all(one["hashes"] for one in components)


def test_what_the_package_needs_is_in_it() -> None:
    named = {one["name"].lower() for one in sbom(LOCK.read_text())["components"]}
    needed = {
        re.split(r"[<>=!;\[ ]", need)[0].lower()
        for need in requires("mcp-agent-memory") or ()
        if "extra ==" not in need
    }

    assert needed
    assert needed <= named


def test_the_same_lock_gives_the_same_bill() -> None:
    assert sbom(LOCK.read_text()) == sbom(LOCK.read_text())
