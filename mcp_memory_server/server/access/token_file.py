"""Tokens of this server's own, in a file that only its owner can read or write.

A token is random, so a fast hash protects it; the file has only hashes. It is read again whenever it changed, so a
revoked token is refused from the next request on.
"""

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import sys
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from mcp_memory_server.domain.kernel.clock import utc_now
from mcp_memory_server.errors import ConfigurationError, NotFoundError
from mcp_memory_server.server.access.principal import Principal, granted

FILE_NAME = "tokens.json"
PREFIX = "mcpm"
"""Every token begins with it, so that scanners for leaked secrets can recognise one."""
OWNER_ONLY = 0o600


@dataclass(frozen=True)
class StaticToken:
    """What the file keeps of a token. ``permissions`` are separated by spaces, times are ISO texts."""

    id: str
    user: str
    permissions: str
    hash: str
    created_at: str
    name: str = ""
    expires_at: str | None = None
    revoked_at: str | None = None

    def is_valid(self, now: datetime) -> bool:
        """Return whether it is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < datetime.fromisoformat(self.expires_at))


class TokenFile:
    """The tokens in one file: created, listed, revoked and verified."""

    def __init__(self, path: Path, now: Callable[[], datetime] = utc_now) -> None:
        self._path = path
        self._now = now
        self._seen: tuple[int, int, int] | None = None
        self._tokens: dict[str, StaticToken] = {}

    async def verify(self, token: str) -> Principal | None:
        """Compare the hash of the token with the one in the file."""
        prefix, _, rest = token.partition("_")
        token_id, _, secret = rest.partition("_")
        if prefix != PREFIX or not secret:
            return None
        known = self._current().get(token_id)
        if known is None or not hmac.compare_digest(known.hash, _hash(token)) or not known.is_valid(self._now()):
            return None
        return Principal(known.user, granted(known.permissions))

    def create(self, user: str, permissions: str, name: str, expires_at: datetime | None) -> tuple[StaticToken, str]:
        """Add a token, and return it with its text, which is stored nowhere."""
        token_id = secrets.token_hex(6)
        text = f"{PREFIX}_{token_id}_{secrets.token_urlsafe(32)}"
        expiry = None if expires_at is None else expires_at.isoformat(timespec="seconds")
        created = self._now().isoformat(timespec="seconds")
        token = StaticToken(token_id, user, permissions, _hash(text), created, name, expiry)
        with self._locked() as tokens:
            tokens[token_id] = token
        return token, text

    def revoke(self, token_id: str) -> StaticToken:
        """Refuse the token from now on.

        Raises:
            NotFoundError: There is none of this id.
        """
        with self._locked() as tokens:
            if token_id not in tokens:
                raise NotFoundError(f"there is no token {token_id!r}; `mcp-memory-server token list` shows them")
            revoked_at = tokens[token_id].revoked_at or self._now().isoformat(timespec="seconds")
            tokens[token_id] = replace(tokens[token_id], revoked_at=revoked_at)
            return tokens[token_id]

    def all(self) -> Sequence[StaticToken]:
        """Return every token, oldest first."""
        return sorted(self._current().values(), key=lambda token: token.created_at)

    def _current(self) -> dict[str, StaticToken]:
        try:
            state = self._path.stat()
        except FileNotFoundError:
            self._seen, self._tokens = None, {}
            return self._tokens
        seen = (state.st_mtime_ns, state.st_size, state.st_ino)
        if seen != self._seen:
            if sys.platform != "win32" and state.st_mode & 0o077:
                raise ConfigurationError(f"{str(self._path)!r} must be accessible to its owner only: chmod 600")
            self._tokens, self._seen = self._read(), seen
        return self._tokens

    def _read(self) -> dict[str, StaticToken]:
        try:
            entries: list[dict[str, Any]] = json.loads(self._path.read_text(encoding="utf-8"))["tokens"]
            tokens = [StaticToken(**entry) for entry in entries]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(f"{str(self._path)!r} is not a file of tokens: {type(error).__name__}") from None
        return {token.id: token for token in tokens}

    @contextlib.contextmanager
    def _locked(self) -> Generator[dict[str, StaticToken]]:
        """Yield the tokens and write them back, one process at a time."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _exclusive(self._path.with_name(f".{self._path.name}.lock")):
            tokens = dict(self._current())
            yield tokens
            text = json.dumps({"tokens": [asdict(token) for token in tokens.values()]}, indent=1, ensure_ascii=False)
            write_for_owner(self._path, text + "\n")


def write_for_owner(path: Path, text: str) -> None:
    """Replace the file at once; only its owner can read it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@contextlib.contextmanager
def _exclusive(lock: Path) -> Generator[None]:
    with os.fdopen(os.open(lock, os.O_RDWR | os.O_CREAT, OWNER_ONLY), "r+") as file:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield
