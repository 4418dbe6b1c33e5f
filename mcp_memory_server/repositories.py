"""The repository that a folder belongs to, by a name that is the same in every copy of it."""

import hashlib
import re
from pathlib import Path

MOST_CHARACTERS = 80

_SECTION = re.compile(r'^\s*\[\s*(\w+)(?:\s+"([^"]*)")?\s*\]')
_URL = re.compile(r"^\s*url\s*=\s*(.+?)\s*$")
_SCHEME = re.compile(r"^[a-z+]+://")


def repository_name(folder: Path) -> str | None:
    """Return the name of the Git repository around the folder; None if it is in none.

    The name is the address of the remote ``origin``, such as ``github.com/acme/web``, without credentials. One without
    a remote is named after its folder, and distinguished by the path of it.
    """
    root = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)
    if root is None:
        return None
    address = _address(_origin(_git_folder(root / ".git")))
    if address and len(address) <= MOST_CHARACTERS:
        return address
    whole = address or str(root.resolve())
    return f"{root.name[:40]} {hashlib.sha256(whole.encode()).hexdigest()[:8]}".strip()


def _git_folder(git: Path) -> Path:
    """Return the folder with the configuration: a work tree and a submodule have a file that names theirs."""
    try:
        if git.is_dir():
            return git
        own = (git.parent / git.read_text(encoding="utf-8").partition("gitdir:")[2].strip()).resolve()
        common = own / "commondir"
        return (own / common.read_text(encoding="utf-8").strip()).resolve() if common.exists() else own
    except (OSError, UnicodeDecodeError):
        return git


def _origin(git: Path) -> str:
    """Return the address of the remote ``origin``, else of the first one; "" if there is none."""
    try:
        lines = (git / "config").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    found: dict[str, str] = {}
    remote = None
    for line in lines:
        if (section := _SECTION.match(line)) is not None:
            remote = section[2] if section[1].lower() == "remote" else None
        elif remote is not None and (url := _URL.match(line)) is not None:
            found.setdefault(remote, url[1])
    return found.get("origin") or next(iter(found.values()), "")


def _address(url: str) -> str:
    """Return host and path of the address of a remote, the same for https, ssh and the short form of ssh."""
    if not url or url.startswith(("/", ".", "file:")):
        return ""
    has_scheme = _SCHEME.match(url) is not None
    address = _SCHEME.sub("", url)
    host, separator, path = address.partition("/" if has_scheme else ":")
    if not separator or not path.strip("/"):
        return ""
    host = host.rpartition("@")[2].partition(":")[0].lower()
    return f"{host}/{path.strip('/').removesuffix('.git')}"
