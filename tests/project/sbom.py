"""Write the bill of materials of a release as CycloneDX 1.6: python -m tests.project.sbom FILE

It lists what `requirements-run.lock` pins, with the hashes that an installation is checked against.
"""

import json
import re
import sys
import uuid
from pathlib import Path
from typing import Any

from mcp_memory_server.version import __version__

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements-run.lock"
NAME = "mcp-agent-memory"

_PACKAGE = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)(?: *; *([^\\\n]+?))? *\\?$")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def sbom(lock: str) -> dict[str, Any]:
    """Return the bill of materials for the text of a lock file. The same lock gives the same bill."""
    components: list[dict[str, Any]] = []
    for line in lock.splitlines():
        if package := _PACKAGE.match(line):
            components.append(_component(*package.groups()))
        elif found := _HASH.search(line):
            components[-1]["hashes"].append({"alg": "SHA-256", "content": found[1]})
    own = {"type": "application", "name": NAME, "version": __version__, "bom-ref": NAME}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{NAME} {__version__} {lock}')}",
        "version": 1,
        "metadata": {"component": {**own, "purl": f"pkg:pypi/{NAME}@{__version__}"}},
        "components": components,
        "dependencies": [{"ref": NAME, "dependsOn": [one["bom-ref"] for one in components]}],
    }


def _component(name: str, version: str, marker: str | None) -> dict[str, Any]:
    purl = f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{version}"
    conditions = [{"name": "python:marker", "value": marker.strip()}] if marker else []
    component: dict[str, Any] = {"type": "library", "name": name, "version": version, "bom-ref": purl, "purl": purl}
    return {**component, "hashes": [], **({"properties": conditions} if conditions else {})}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(sbom(LOCK.read_text()), indent=1) + "\n", encoding="utf-8")
