"""The values that pending counts and the writer of the counters exchange: see `counts` for the protocol."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from mcp_memory_server.domain.sessions.counts import Amount, Counters, Watermark

if TYPE_CHECKING:
    from concurrent.futures import Future


@dataclass(frozen=True)
class Deferred:
    """The turn is stored by one small write, and counted later under this writer's watermark."""

    writer: str
    partition: int


@dataclass(frozen=True)
class Counted:
    """The turn is written together with its count, and with a new watermark if ``opens`` names a writer."""

    partition: int
    opens: str | None = None


@dataclass(frozen=True)
class Wait:
    """Another turn is opening a watermark. Ask again when that is ``over``."""

    over: "Future[None]"


Way: TypeAlias = Deferred | Counted | Wait


@dataclass(frozen=True)
class Uncounted:
    """A turn that is in the table and not in the counters."""

    tokens: int
    partition: int
    since: float


@dataclass(frozen=True)
class UnknownOutcome:
    """The partition that a turn was put into without an answer. A repetition uses the same one.

    If it ``is_deferred`` and was stored, it is uncounted: the watermark must not pass it.
    """

    partition: int
    since: float
    is_deferred: bool


@dataclass(frozen=True)
class Plan:
    """A change of the counters: what to add, which watermarks to remove, and the one to set."""

    amount: Amount
    removed: frozenset[str]
    set: Mapping[str, Watermark]
    partitions: int

    def applied_to(self, counters: Counters) -> Counters:
        """Return the counters after the change."""
        kept = {name: watermark for name, watermark in counters.watermarks.items() if name not in self.removed}
        return replace(
            counters,
            version=counters.version + 1,
            turns=counters.turns + self.amount.turns,
            tokens=counters.tokens + self.amount.tokens,
            watermarks={**kept, **self.set},
            partitions=self.partitions,
        )
