"""Summarizing: by a model where there is one and it answers, otherwise by the built-in summarizer."""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from mcp_memory_server.domain.kernel.log_labels import log_label
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
from mcp_memory_server.ports.metric_catalogue import MODEL_TOKENS, SUMMARIES
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.ports.summarizer import Drafted, Summarizer
from mcp_memory_server.services.kernel.spending import Reservation, Spending

ATTEMPTS = 2
"""A model whose answer cannot be parsed is asked once more."""
REST_SECONDS = 30.0
"""A model that failed is not asked for so long: hundreds of sessions may be due, and each would wait for it."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PaidModel:
    """A model and the budget that it is paid from."""

    summarizer: Summarizer
    spending: Spending

    @property
    def engine(self) -> str:
        """The technology, as metrics name it."""
        return self.summarizer.name.partition("/")[0]


class Summarizing:
    """Drafts summaries of conversations."""

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
        """Whether a draft may take as long as a model takes, and cost money."""
        return self._model is not None

    async def draft_here(self, material: Material) -> Draft:
        """Return the draft of the built-in summarizer, which costs nothing and takes no time."""
        return (await self._built_in.summarize(material)).draft or Draft()

    async def draft(self, scope: Scope, material: Material) -> tuple[Draft, str]:
        """Return a draft and the name of the summarizer that made it. It never fails."""
        model, reason = self._model, "ok"
        if model is not None and material.spoken:
            draft, reason = await self._by(model, scope, material)
            if draft is not None:
                self._metrics.record(SUMMARIES, 1, engine=model.engine, result="ok")
                return draft, model.summarizer.name
        self._metrics.record(SUMMARIES, 1, engine=self._built_in.name, result=reason)
        return await self.draft_here(material), self._built_in.name

    async def close(self) -> None:
        """Close the model."""
        if self._model is not None:
            await self._model.summarizer.close()

    async def _by(self, model: PaidModel, scope: Scope, material: Material) -> tuple[Draft | None, str]:
        if self._monotonic() < self._rests_until:
            return None, "unavailable"
        for _ in range(ATTEMPTS):
            try:
                reserved = await model.spending.reserve(scope, model.summarizer.most_tokens(material))
                if reserved is None:
                    return None, "over_budget"
                drafted = await self._ask(model, material, reserved)
            except MemoryServerError as error:
                return None, self._failed(scope, error)
            if drafted.draft is not None:
                return drafted.draft, "ok"
            logger.warning("%s: %s answered with no summary", log_label(scope), model.summarizer.name)
        return None, "invalid_reply"

    async def _ask(self, model: PaidModel, material: Material, reserved: Reservation) -> Drafted:
        try:
            drafted = await model.summarizer.summarize(material)
        except (ModelBusyError, ConfigurationError):
            await model.spending.release(reserved)
            raise
        # A request that timed out may be billed, so it stays counted; so does the maximum, if the table fails now.
        with suppress(UnavailableError):
            await model.spending.settle(reserved, drafted.used)
        self._metrics.record(MODEL_TOKENS, drafted.used.total, engine=model.engine)
        return drafted

    def _failed(self, scope: Scope, error: MemoryServerError) -> str:
        logger.warning("%s: the model failed, the built-in summarizer is used: %s", log_label(scope), error)
        if isinstance(error, ModelUnavailableError | ConfigurationError):
            self._rests_until = self._monotonic() + REST_SECONDS
        return "unavailable" if isinstance(error, UnavailableError) else "misconfigured"
