"""Spending: what models cost is counted before they are asked, in the table, so that all processes share a ceiling."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

from mcp_memory_server.domain.kernel.items import Item, Update
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.spending import Ceiling, Limit, Price, Spent, Tokens
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.metric_catalogue import MODEL_BUDGET_USED
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.schema.keys import spent_key

KEPT_OF_A_USER = timedelta(days=2)
KEPT_OF_ALL = timedelta(days=90)

_TOKENS, _MICROS, _REQUESTS, _INPUT, _OUTPUT = "tokens", "micros", "requests", "input", "output"


@dataclass(frozen=True)
class Reservation:
    """What was counted for a request that is about to be sent, and on which day."""

    scope: Scope
    day: date
    tokens: Tokens


@dataclass(frozen=True)
class Day:
    """What was spent on a day under which ceiling."""

    day: date
    spent: Spent
    requests: int
    limit: Limit

    @property
    def is_used_up(self) -> bool:
        """Whether models are left alone for the rest of the day."""
        return self.limit.share(self.spent) >= 1


class Spending:
    """Counts what models cost, for each user and for all of them, and says whether one more request may be sent.

    What a request can take at most is counted first; if that is over a ceiling it is taken back and refused. So the
    ceiling holds whatever happens in parallel. What it really took is counted afterwards. A process that dies in
    between leaves the most: the ceiling errs on the side of the bill.
    """

    def __init__(
        self, table: ItemTable, ceiling: Ceiling, price: Price, metrics: Metrics, now: Callable[[], datetime]
    ) -> None:
        self._table = table
        self._ceiling = ceiling
        self._price = price
        self._metrics = metrics
        self._now = now

    async def reserve(self, scope: Scope, most: Tokens) -> Reservation | None:
        """Count the most that a request can take; None, and nothing counted, if that is over a ceiling.

        Raises:
            UnavailableError: The table did not answer. Nobody may ask a model without having counted it.
        """
        wanted = Reservation(Scope(scope.user_id), self._now().astimezone(UTC).date(), most)
        if not self._ceiling.each_user.allows(await self._add(wanted.scope, wanted.day, most, requests=1)):
            await self._add(wanted.scope, wanted.day, Tokens() - most, requests=-1)
            return None
        everybody = await self._add(None, wanted.day, most, requests=1)
        if not self._ceiling.everybody.allows(everybody):
            await self._count(wanted, Tokens() - most, requests=-1)
            self._metrics.record(MODEL_BUDGET_USED, 100.0)
            return None
        return wanted

    async def settle(self, reservation: Reservation, used: Tokens) -> None:
        """Count what the request really took instead of the most that it could."""
        await self._count(reservation, used - reservation.tokens)

    async def release(self, reservation: Reservation) -> None:
        """Count nothing for the request: it was never begun."""
        await self._count(reservation, Tokens() - reservation.tokens, requests=-1)

    async def today(self) -> Day:
        """Return what all users together have spent today."""
        day = self._now().astimezone(UTC).date()
        item = await self._table.get(spent_key(None, day))
        requests = 0 if item is None else item.body.get(_REQUESTS)
        return Day(day, _spent(item), requests if isinstance(requests, int) else 0, self._ceiling.everybody)

    async def _count(self, reservation: Reservation, change: Tokens, *, requests: int = 0) -> None:
        await self._add(reservation.scope, reservation.day, change, requests=requests)
        spent = await self._add(None, reservation.day, change, requests=requests)
        self._metrics.record(MODEL_BUDGET_USED, 100 * self._ceiling.everybody.share(spent))

    async def _add(self, scope: Scope | None, day: date, tokens: Tokens, *, requests: int) -> Spent:
        added: dict[str, int | float] = {
            _TOKENS: tokens.total,
            _MICROS: self._price.micros(tokens),
            _REQUESTS: requests,
            _INPUT: tokens.input,
            _OUTPUT: tokens.output,
        }
        kept = KEPT_OF_ALL if scope is None else KEPT_OF_A_USER
        update = Update(spent_key(scope, day), add=added, expires_at=self._now() + kept)
        return _spent(await self._table.update(update, operation_id=uuid4().hex))


def _spent(item: Item | None) -> Spent:
    if item is None:
        return Spent()
    tokens, micros = item.body.get(_TOKENS), item.body.get(_MICROS)
    return Spent(tokens if isinstance(tokens, int) else 0, micros if isinstance(micros, int) else 0)
