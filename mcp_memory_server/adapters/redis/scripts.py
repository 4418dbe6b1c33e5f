"""The scripts that run in Redis, each of them all or nothing."""

from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path
from typing import Any

from redis.exceptions import NoScriptError

from mcp_memory_server.adapters.redis.address import Client
from mcp_memory_server.adapters.redis.keys import SessionKeys

_FOLDER = Path(__file__).with_name("lua")
_SHARED = (_FOLDER / "session.lua").read_text()


@dataclass(frozen=True)
class Script:
    """A script and the name that the server knows it by."""

    text: str
    digest: str

    def run(self, client: Client, keys: SessionKeys, *arguments: str | float) -> Any:
        """Return the script's answer, in one round trip once the server knows it."""
        sent = (3, keys.session, keys.deadlines, keys.state, *arguments)
        try:
            return client.evalsha(self.digest, *sent)
        except NoScriptError:
            return client.eval(self.text, *sent)  # the server knows it from now on


def _script(name: str) -> Script:
    text = _SHARED + (_FOLDER / f"{name}.lua").read_text()
    return Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


APPEND = _script("append")
LOAD = _script("load")
FILL = _script("fill")
DROP = _script("drop")
WRITE_STATE = _script("write_state")
