"""The scripts that run in Redis, each of them atomically."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path
from typing import Any

from redis.exceptions import NoScriptError

from mcp_memory_server.adapters.redis.address import Client

_FOLDER = Path(__file__).with_name("lua")

Argument = str | float


@dataclass(frozen=True)
class Request:
    """The keys that a script touches, all in one slot, and its arguments."""

    keys: Sequence[str]
    arguments: Sequence[Argument]


@dataclass(frozen=True)
class Script:
    """A script and its digest, under which the server caches it."""

    text: str
    digest: str

    def run(self, client: Client, keys: Sequence[str], *arguments: Argument) -> Any:
        """Return the script's reply, in one round trip once the server has cached it."""
        try:
            return client.evalsha(self.digest, len(keys), *keys, *arguments)
        except NoScriptError:
            return client.eval(self.text, len(keys), *keys, *arguments)  # the server caches it

    def run_together(self, client: Client, requests: Sequence[Request]) -> list[Any]:
        """Return the script's reply to each request, all of them in one round trip to each server."""
        together = client.pipeline(transaction=False)
        for one in requests:
            together.execute_command("EVALSHA", self.digest, len(one.keys), *one.keys, *one.arguments)
        answers = together.execute(raise_on_error=False) if requests else []
        return [self._checked(client, one, answer) for one, answer in zip(requests, answers, strict=True)]

    def _checked(self, client: Client, request: Request, answer: Any) -> Any:
        if isinstance(answer, NoScriptError):
            return self.run(client, request.keys, *request.arguments)
        if isinstance(answer, Exception):
            raise answer
        return answer


def _script(name: str, *shared: str) -> Script:
    text = "".join((_FOLDER / f"{part}.lua").read_text() for part in ("server", *shared, name))
    return Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


APPEND = _script("session_cache/append", "session_cache/session", "session_cache/adding", "outbox/outbox")
RECORD_STORED = _script("session_cache/record_stored", "session_cache/session", "session_cache/adding")
LOAD = _script("session_cache/load", "session_cache/session")
FILL = _script("session_cache/fill", "session_cache/session", "outbox/outbox")
PING = _script("ping")
DROP = _script("session_cache/drop", "session_cache/session")
SETTLE = _script("session_cache/settle", "session_cache/session")
SET_SUMMARY = _script("session_cache/set_summary", "session_cache/session")

ENQUEUE = _script("outbox/enqueue", "outbox/outbox")
WAITING = _script("outbox/waiting", "outbox/outbox")
CLAIMABLE = _script("outbox/claimable", "outbox/outbox", "outbox/leasing")
CLAIM = _script("outbox/claim", "outbox/outbox", "outbox/leasing")
REMOVE = _script("outbox/remove", "outbox/outbox", "outbox/leasing")
PUT_OFF = _script("outbox/put_off", "outbox/outbox", "outbox/leasing")
RELEASE = _script("outbox/release", "outbox/outbox", "outbox/leasing")
ERASE = _script("outbox/erase", "outbox/outbox", "outbox/leasing")
