"""Summing up: by a model as far as that goes, and by the built-in summarizer whenever it does not."""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.summaries.material import Material
from mcp_memory_server.domain.summaries.summary import Draft
from mcp_memory_server.errors import (
    ConfigurationError,
    MemoryServerError,
    ModelBusyError,
    ModelUnavailableError,
    UnavailableError,
)
from mcp_memory_server.ports.measures import MODEL_TOKENS, SUMMARIES
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.ports.summarizer import Drafted, Summarizer
from mcp_memory_server.services.kernel.spending import Reservation, Spending

ATTEMPTS = 2
"""A model that answers nonsense is asked once more."""
REST_SECONDS = 30.0
"""A model that failed is left alone for so long: hundreds of sessions may be due, and each would wait for it."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PaidModel:
    """A model and the purse that it is paid from."""

    summarizer: Summarizer
    spending: Spending

    @property
    def engine(self) -> str:
        """The technology, as metrics name it."""
        return self.summarizer.name.partition("/")[0]


class Summarizing:
    """Makes a draft of every conversation, and says what made it."""

    def __init__(
        self,
        model: PaidModel | None,
        built_in: Summarizer,
        metrics: Metrics,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Without a model nothing leaves this process: the built-in summarizer needs none."""
        self._model = model
        self._built_in = built_in
        self._metrics = metrics
        self._monotonic = monotonic
        self._rests_until = float("-inf")

    @property
    def asks_a_model(self) -> bool:
        """Tell whether a draft may take as long as a model takes, and be paid for."""
        return self._model is not None

    async def draft_here(self, material: Material) -> Draft:
        """Return the draft of the built-in summarizer, which costs nothing and is there at once."""
        return (await self._built_in.summarize(material)).draft or Draft()

    async def draft(self, scope: Scope, material: Material) -> tuple[Draft, str]:
        """Return a draft and the name of what made it. There always is one."""
        model, reason = self._model, "ok"
        if model is not None and material.spoken:
            draft, reason = await self._by(model, scope, material)
            if draft is not None:
                self._metrics.record(SUMMARIES, 1, engine=model.engine, result="ok")
                return draft, model.summarizer.name
        self._metrics.record(SUMMARIES, 1, engine=self._built_in.name, result=reason)
        return await self.draft_here(material), self._built_in.name

    async def close(self) -> None:
        """Let go of the model."""
        if self._model is not None:
            await self._model.summarizer.close()

    async def _by(self, model: PaidModel, scope: Scope, material: Material) -> tuple[Draft | None, str]:
        if self._monotonic() < self._rests_until:
            return None, "unavailable"
        for _ in range(ATTEMPTS):
            try:
                reserved = await model.spending.reserve(scope, model.summarizer.most_tokens(material))
                if reserved is None:
                    return None, "ceiling"
                drafted = await self._ask(model, material, reserved)
            except MemoryServerError as error:
                return None, self._failed(error)
            if drafted.draft is not None:
                return drafted.draft, "ok"
            logger.warning("%s answered something that is no summary", model.summarizer.name)
        return None, "nonsense"

    async def _ask(self, model: PaidModel, material: Material, reserved: Reservation) -> Drafted:
        try:
            drafted = await model.summarizer.summarize(material)
        except (ModelBusyError, ConfigurationError):
            await model.spending.release(reserved)
            raise
        # What was given up on may still be billed, so it stays counted. So does the most, if the table is gone now.
        with suppress(UnavailableError):
            await model.spending.settle(reserved, drafted.used)
        self._metrics.record(MODEL_TOKENS, drafted.used.total, engine=model.engine)
        return drafted

    def _failed(self, error: MemoryServerError) -> str:
        logger.warning("a model could not be asked, the built-in summarizer serves: %s", error)
        if isinstance(error, ModelUnavailableError | ConfigurationError):
            self._rests_until = self._monotonic() + REST_SECONDS
        return "unavailable" if isinstance(error, UnavailableError) else "misconfigured"
