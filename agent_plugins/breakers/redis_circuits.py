"""Circuits that workers share through Redis. Only a probe waits for Redis; everything else is sent in the background.

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

from agent_plugins.argument_checks import check_type
from agent_plugins.breakers.circuit_rules import CircuitState, Claim, SharedView
from mcp_memory_server import ConfigurationError, UnavailableError

SPACE = "agent-plugins"
TIMEOUT_SECONDS = 0.25
BACKOFF_SECONDS = 2.0
"""How long a Redis that did not answer is not asked again, so that not every probe waits for it."""
POLL_SECONDS = 0.25
REFRESH_SECONDS = 10.0
"""How often a worker reads all circuits again: a connection can be dead without having been closed."""
TTL_SECONDS = 24 * 3600
MAX_QUEUED = 1000

_SCRIPT = (Path(__file__).parent / "lua" / "circuit.lua").read_text()
_DIGEST = sha1(_SCRIPT.encode(), usedforsecurity=False).hexdigest()
_FOREIGN_ERRORS = (RedisError, OSError)

Adopt = Callable[[SharedView], None]

logger = logging.getLogger(__name__)


class RedisCircuits:
    """See `SharedCircuits`. Workers with the same Redis and ``space`` share their circuits, by tool name.

    Create one for each registry, after any fork: a worker ignores the changes that it published itself, so two
    breakers with one name on one instance would not notice each other.
    """

    def __init__(self, url: str, *, space: str = SPACE, monotonic: Callable[[], float] = time.monotonic) -> None:
        check_type("url", url, str, "redis://host:6379/0")
        self._client: Any = _client(url)
        self._space = space
        self._channel = f"{space}:circuits"
        self._worker = uuid4().hex[:12]
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._followers: dict[str, list[WeakMethod[Adopt]]] = {}
        self._generations: dict[str, int] = {}
        self._backing_off_until = 0.0
        self._is_closed = threading.Event()
        self._sender = ThreadPoolExecutor(1, thread_name_prefix="circuits-sender")
        self._queue_slots = threading.BoundedSemaphore(MAX_QUEUED)
        self._listener: threading.Thread | None = None

    def follow(self, name: str, adopt: Adopt) -> None:
        """See the port."""
        with self._lock:
            self._followers.setdefault(name, []).append(WeakMethod(adopt))
            if self._listener is None:
                self._listener = threading.Thread(target=self._listen, name="circuits-listener", daemon=True)
                self._listener.start()
        self._enqueue("look", name)

    def claim(self, name: str, lease: float) -> Claim:
        """See the port."""
        if self._is_backing_off():
            raise UnavailableError("the Redis of the circuits did not answer a moment ago")
        # Queued behind earlier reports: a probe that this worker has just abandoned frees its slot first.
        claiming = self._sender.submit(self._claim, name, lease)
        try:
            return claiming.result(2 * TIMEOUT_SECONDS)
        except (*_FOREIGN_ERRORS, CancelledError) as error:
            claiming.cancel()
            raise UnavailableError(f"the Redis of the circuits does not answer: {type(error).__name__}") from error

    def opened(self, name: str, rest: float) -> None:
        """See the port."""
        self._enqueue("open", name, seconds=rest)

    def probe_succeeded(self, name: str, token: int) -> None:
        """See the port."""
        self._enqueue("close", name, token)

    def probe_failed(self, name: str, token: int, rest: float) -> None:
        """See the port."""
        self._enqueue("fail", name, token, rest)

    def probe_abandoned(self, name: str, token: int) -> None:
        """See the port."""
        self._enqueue("free", name, token)

    def flush(self) -> None:
        """Wait until all queued reports have been sent."""
        self._sender.submit(lambda: None).result()

    def close(self) -> None:
        """Send the queued reports, and close the connections."""
        self._is_closed.set()
        self._sender.shutdown()
        if self._listener is not None:
            self._listener.join(2 * POLL_SECONDS)
        self._client.close()

    def _enqueue(self, command: str, name: str, token: int | None = None, seconds: float = 0.0) -> None:
        if not self._queue_slots.acquire(blocking=False):
            return  # Redis hangs and the queue is full; workers decide for themselves meanwhile
        try:
            self._sender.submit(self._send, command, name, token, seconds)
        except RuntimeError:  # it was closed
            self._queue_slots.release()

    def _claim(self, name: str, lease: float) -> Claim:
        view, generation, granted = self._ask("claim", name, self._generation_of(name), lease)
        self._advance_generation(name, generation)
        return Claim(generation if granted else None, view)

    def _send(self, command: str, name: str, token: int | None, seconds: float) -> None:
        try:
            # The generation is read here and not when this was queued: earlier reports may have changed it.
            known = self._generation_of(name) if token is None else token
            view, generation, granted = self._ask(command, name, known, seconds)
        except _FOREIGN_ERRORS as error:
            logger.warning("a report about a circuit was not sent to Redis: %s", type(error).__name__)
        else:
            if self._advance_generation(name, generation) and not granted:
                self._notify(name, view)
        finally:
            self._queue_slots.release()

    def _is_backing_off(self) -> bool:
        return self._monotonic() < self._backing_off_until

    def _ask(self, command: str, name: str, known: int, seconds: float = 0.0) -> tuple[SharedView, int, bool]:
        if self._is_backing_off():
            raise RedisConnectionError("it did not answer a moment ago")
        keys = (f"{{{self._space}}}:circuit:{quote(name, safe='')}", f"{{{self._space}}}:names")
        arguments = (command, name, known, round(seconds * 1000), self._channel, self._worker, TTL_SECONDS * 1000)
        try:
            state, generation, remaining, granted = self._run(keys, arguments)
        except _FOREIGN_ERRORS:
            self._backing_off_until = self._monotonic() + BACKOFF_SECONDS
            raise
        return _view(state, float(remaining)), int(generation), bool(granted)

    def _run(self, keys: Sequence[str], arguments: Sequence[str | int]) -> Any:
        try:
            return self._client.evalsha(_DIGEST, len(keys), *keys, *arguments)
        except NoScriptError:
            return self._client.eval(_SCRIPT, len(keys), *keys, *arguments)

    def _listen(self) -> None:
        while not self._is_closed.is_set():
            try:
                with self._client.pubsub(ignore_subscribe_messages=True) as pubsub:
                    pubsub.subscribe(self._channel)
                    refresh_at = self._monotonic()
                    while not self._is_closed.is_set():
                        if self._monotonic() >= refresh_at:
                            refresh_at = self._monotonic() + REFRESH_SECONDS
                            self._refresh_all()
                        message = pubsub.get_message(timeout=POLL_SECONDS)
                        if message is not None:
                            self._receive(message["data"])
            except _FOREIGN_ERRORS as error:
                logger.warning("changes of circuits are not received from Redis: %s", type(error).__name__)
                self._is_closed.wait(BACKOFF_SECONDS)

    def _refresh_all(self) -> None:
        """Read all circuits: messages published while this worker was not subscribed are not repeated."""
        with self._lock:
            names = list(self._followers)
        for name in names:
            self._enqueue("look", name)

    def _receive(self, text: str) -> None:
        with suppress(ValueError):
            name, origin, state, generation, milliseconds = json.loads(text)
            if self._advance_generation(name, int(generation)) and origin != self._worker:
                self._notify(name, _view(state, float(milliseconds)))

    def _notify(self, name: str, view: SharedView) -> None:
        with self._lock:
            adopts = [(weak, weak()) for weak in self._followers.get(name, [])]
            self._followers[name] = [weak for weak, adopt in adopts if adopt is not None]
        for _, adopt in adopts:
            if adopt is not None:
                adopt(view)

    def _advance_generation(self, name: str, generation: int) -> bool:
        """Store the newest known generation of a circuit; return whether it is newer than the one before."""
        with self._lock:
            is_news = generation > self._generations.get(name, 0)
            if is_news:
                self._generations[name] = generation
            return is_news

    def _generation_of(self, name: str) -> int:
        with self._lock:
            return self._generations.get(name, 0)


def shared_circuits(url: str, *, space: str = SPACE) -> list[Mapping[str, Any]]:
    """Return the state of every circuit that workers share, as plain data.

    Raises:
        ConfigurationError: The address is not valid.
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
    return [_describe(record, now) for record in found if record]


def _describe(record: Mapping[str, str], now: float) -> dict[str, Any]:
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
            # Otherwise the client repeats a command that got no reply, although it may have been carried out.
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
            protocol=2,
        )
    except ValueError:
        raise ConfigurationError("the address of a Redis must look like redis://host:6379/0") from None


def _view(state: str, milliseconds: float) -> SharedView:
    known = state if state in set(CircuitState) else CircuitState.CLOSED
    return SharedView(CircuitState(known), milliseconds / 1000)
