"""Circuits that workers share through Redis. It is asked only when a probe is due; everything else is told it, later.

circuits = RedisCircuits("redis://localhost:6379/0")
registry = ToolRegistry(shared=circuits)
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha1
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote
from uuid import uuid4
from weakref import WeakMethod

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, RedisError
from redis.retry import Retry

from agent_plugins.breakers.circuits import CircuitState, Claim, SharedView
from mcp_memory_server import ConfigurationError, UnavailableError

SPACE = "agent-plugins"
TIMEOUT_SECONDS = 0.25
AWAY_SECONDS = 2.0
"""A Redis that did not answer is not asked again for so long: nobody waits for it at every probe."""
LISTEN_SECONDS = 0.25
LOOK_AGAIN_SECONDS = 10.0
"""So often a worker asks how things stand: a connection that is dead without having been closed tells nothing."""
LIFE_SECONDS = 24 * 3600
MOST_WAITING = 1000

_SCRIPT = (Path(__file__).parent / "lua" / "circuit.lua").read_text()
_DIGEST = sha1(_SCRIPT.encode(), usedforsecurity=False).hexdigest()
_FOREIGN_ERRORS = (RedisError, OSError)

Adopt = Callable[[SharedView], None]

logger = logging.getLogger(__name__)


class RedisCircuits:
    """See `SharedCircuits`. Workers with one Redis and one space share their circuits, by the names of their tools.

    One for each registry, made after any fork: two breakers of one name in a process would not hear of each other.
    """

    def __init__(self, url: str, *, space: str = SPACE, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._client: Any = _client(url)
        self._space = space
        self._channel = f"{space}:circuits"
        self._worker = uuid4().hex[:12]
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._followers: dict[str, list[WeakMethod[Adopt]]] = {}
        self._known: dict[str, int] = {}
        self._away_until = 0.0
        self._is_closed = threading.Event()
        self._sender = ThreadPoolExecutor(1, thread_name_prefix="circuits-sender")
        self._waiting = threading.BoundedSemaphore(MOST_WAITING)
        self._listener: threading.Thread | None = None

    def follow(self, name: str, adopt: Adopt) -> None:
        """See the port."""
        with self._lock:
            self._followers.setdefault(name, []).append(WeakMethod(adopt))
            if self._listener is None:
                self._listener = threading.Thread(target=self._listen, name="circuits-listener", daemon=True)
                self._listener.start()
        self._later("look", name)

    def claim(self, name: str, lease: float) -> Claim:
        """See the port."""
        if self._is_away():
            raise UnavailableError("the Redis of the circuits did not answer a moment ago")
        # After what waits to be told: a probe of this worker that was abandoned just now frees the slot first.
        claiming = self._sender.submit(self._claim, name, lease)
        try:
            return claiming.result(2 * TIMEOUT_SECONDS)
        except (*_FOREIGN_ERRORS, CancelledError) as error:
            claiming.cancel()
            raise UnavailableError(f"the Redis of the circuits does not answer: {type(error).__name__}") from error

    def opened(self, name: str, rest: float) -> None:
        """See the port."""
        self._later("open", name, seconds=rest)

    def probe_succeeded(self, name: str, token: int) -> None:
        """See the port."""
        self._later("close", name, token)

    def probe_failed(self, name: str, token: int, rest: float) -> None:
        """See the port."""
        self._later("fail", name, token, rest)

    def probe_abandoned(self, name: str, token: int) -> None:
        """See the port."""
        self._later("free", name, token)

    def flush(self) -> None:
        """Wait until everything so far was told."""
        self._sender.submit(lambda: None).result()

    def close(self) -> None:
        """Tell what is waiting to be told, and let go of Redis."""
        self._is_closed.set()
        self._sender.shutdown()
        if self._listener is not None:
            self._listener.join(2 * LISTEN_SECONDS)
        self._client.close()

    def _later(self, wish: str, name: str, token: int | None = None, seconds: float = 0.0) -> None:
        if not self._waiting.acquire(blocking=False):
            return  # Redis hangs, and so much waits for it already; workers decide for themselves meanwhile
        try:
            self._sender.submit(self._send, wish, name, token, seconds)
        except RuntimeError:  # it was closed
            self._waiting.release()

    def _claim(self, name: str, lease: float) -> Claim:
        view, generation, granted = self._ask("claim", name, self._known_of(name), lease)
        self._learn(name, generation)
        return Claim(generation if granted else None, view)

    def _send(self, wish: str, name: str, token: int | None, seconds: float) -> None:
        try:
            # What is known is looked up now: what waited before this may have changed it.
            known = self._known_of(name) if token is None else token
            view, generation, granted = self._ask(wish, name, known, seconds)
        except _FOREIGN_ERRORS as error:
            logger.warning("a circuit is not shared for now: %s", type(error).__name__)
        else:
            if self._learn(name, generation) and not granted:
                self._tell(name, view)
        finally:
            self._waiting.release()

    def _is_away(self) -> bool:
        return self._monotonic() < self._away_until

    def _ask(self, wish: str, name: str, known: int, seconds: float = 0.0) -> tuple[SharedView, int, bool]:
        if self._is_away():
            raise RedisConnectionError("it did not answer a moment ago")
        keys = (f"{{{self._space}}}:circuit:{quote(name, safe='')}", f"{{{self._space}}}:names")
        told = (wish, name, known, round(seconds * 1000), self._channel, self._worker, LIFE_SECONDS * 1000)
        try:
            state, generation, remaining, granted = self._run(keys, told)
        except _FOREIGN_ERRORS:
            self._away_until = self._monotonic() + AWAY_SECONDS
            raise
        return _view(state, float(remaining)), int(generation), bool(granted)

    def _run(self, keys: Sequence[str], told: Sequence[str | int]) -> Any:
        try:
            return self._client.evalsha(_DIGEST, len(keys), *keys, *told)
        except NoScriptError:
            return self._client.eval(_SCRIPT, len(keys), *keys, *told)

    def _listen(self) -> None:
        while not self._is_closed.is_set():
            try:
                with self._client.pubsub(ignore_subscribe_messages=True) as news:
                    news.subscribe(self._channel)
                    look_at = self._monotonic()
                    while not self._is_closed.is_set():
                        if self._monotonic() >= look_at:
                            look_at = self._monotonic() + LOOK_AGAIN_SECONDS
                            self._catch_up()
                        message = news.get_message(timeout=LISTEN_SECONDS)
                        if message is not None:
                            self._heard(message["data"])
            except _FOREIGN_ERRORS as error:
                logger.warning("circuits are not heard of for now: %s", type(error).__name__)
                self._is_closed.wait(AWAY_SECONDS)

    def _catch_up(self) -> None:
        """Ask how things stand: what was told while nobody listened is not told again."""
        with self._lock:
            names = list(self._followers)
        for name in names:
            self._later("look", name)

    def _heard(self, text: str) -> None:
        with suppress(ValueError):
            name, origin, state, generation, milliseconds = json.loads(text)
            if self._learn(name, int(generation)) and origin != self._worker:
                self._tell(name, _view(state, float(milliseconds)))

    def _tell(self, name: str, view: SharedView) -> None:
        with self._lock:
            adopts = [(weak, weak()) for weak in self._followers.get(name, [])]
            self._followers[name] = [weak for weak, adopt in adopts if adopt is not None]
        for _, adopt in adopts:
            if adopt is not None:
                adopt(view)

    def _learn(self, name: str, generation: int) -> bool:
        """Note how new what is known of a circuit is, and tell whether that is news."""
        with self._lock:
            is_news = generation > self._known.get(name, 0)
            if is_news:
                self._known[name] = generation
            return is_news

    def _known_of(self, name: str) -> int:
        with self._lock:
            return self._known.get(name, 0)


def shared_circuits(url: str, *, space: str = SPACE) -> list[Mapping[str, Any]]:
    """Return how every circuit stands that workers share, as plain data.

    Raises:
        ConfigurationError: The address is none.
        UnavailableError: Redis does not answer.
    """
    client = _client(url)
    try:
        names: Any = client.smembers(f"{{{space}}}:names")
        found: list[Any] = [client.hgetall(f"{{{space}}}:circuit:{quote(name, safe='')}") for name in sorted(names)]
        seconds, microseconds = client.time()
    except _FOREIGN_ERRORS as error:
        raise UnavailableError(f"Redis does not answer: {type(error).__name__}") from error
    finally:
        client.close()
    now = float(seconds) * 1000 + float(microseconds) / 1000
    return [_described(record, now) for record in found if record]


def _described(record: Mapping[str, str], now: float) -> dict[str, Any]:
    return {
        "name": record["name"],
        "state": record["state"],
        "retry_after": round(max(float(record["until"]) - now, 0) / 1000, 1) if record["state"] != "closed" else 0.0,
        "since_seconds": round(max(now - float(record["at"]), 0) / 1000, 1),
        "changed_by": record["by"],
    }


def _client(url: str) -> Any:
    try:
        return cast("Any", Redis).from_url(
            url,
            socket_timeout=TIMEOUT_SECONDS,
            socket_connect_timeout=TIMEOUT_SECONDS,
            # The client would send again what it got no answer to, although it may have been carried out.
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
            protocol=2,
        )
    except ValueError:
        raise ConfigurationError("the address of a Redis must look like redis://host:6379/0") from None


def _view(state: str, milliseconds: float) -> SharedView:
    known = state if state in set(CircuitState) else CircuitState.CLOSED
    return SharedView(CircuitState(known), milliseconds / 1000)
