"""Composing the finalizer of sessions, and choosing its summarizer."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from mcp_memory_server.adapters.built_in.summarizer import BuiltInSummarizer
from mcp_memory_server.adapters.tiktoken.token_counter import count_tokens
from mcp_memory_server.addresses import AnthropicModel, BedrockModel, BuiltInSummaries, Nowhere, parse_summarizer
from mcp_memory_server.domain.kernel.spending import Ceiling, Price, parse_ceiling, parse_prices, price_of
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.ports.summarizer import Summarizer
from mcp_memory_server.services.facts.facts import Facts
from mcp_memory_server.services.kernel.spending import Spending
from mcp_memory_server.services.sessions.session_reader import SessionReader
from mcp_memory_server.services.sessions.session_stores import SessionStores
from mcp_memory_server.services.summaries.finalizer_worker import FinalizerWorker
from mcp_memory_server.services.summaries.folding import Folding
from mcp_memory_server.services.summaries.lessons import Lessons
from mcp_memory_server.services.summaries.rolling_summaries import RollingSummaries
from mcp_memory_server.services.summaries.session_finalizer import SessionFinalizer
from mcp_memory_server.services.summaries.session_leases import SessionLeases
from mcp_memory_server.services.summaries.summaries import Summaries
from mcp_memory_server.services.summaries.summarizing import PaidModel, Summarizing
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring.packages import missing_package


@dataclass(frozen=True)
class ChosenModel:
    """A model, what it costs, and what it may cost in a day."""

    summarizer: Summarizer
    price: Price
    ceiling: Ceiling


@dataclass(frozen=True)
class FinalizerOptions:
    """What summarizes sessions, the built-in summarizer unless there is a model, and whether the worker ``runs``."""

    model: ChosenModel | None = None
    runs: bool = False


def finalizer_options(settings: Settings) -> FinalizerOptions:
    """Open the summarizer that the settings name. Nothing is sent before a session is summarized.

    Raises:
        ConfigurationError: A package is missing, or it is not known what the model costs.
    """
    match parse_summarizer(settings.summarizer):
        case Nowhere():
            return FinalizerOptions(runs=False)
        case BuiltInSummaries():
            return FinalizerOptions(runs=True)
        case AnthropicModel() | BedrockModel() as model:
            price = price_of(model.model, parse_prices(settings.prices))
            return FinalizerOptions(ChosenModel(_opened(model), price, parse_ceiling(settings.spending)), runs=True)


@dataclass(frozen=True)
class RunningFinalizer:
    """The finalizer, its worker, and the budget of the model if there is one."""

    finalizer: SessionFinalizer
    rolling: RollingSummaries
    worker: FinalizerWorker
    summarizing: Summarizing
    spending: Spending | None

    async def close(self) -> None:
        """Finish what is in progress, as far as time allows."""
        await self.worker.close()
        await self.summarizing.close()


def compose_finalizer(
    table: ItemTable,
    stores: SessionStores,
    reader: SessionReader,
    facts: Facts,
    options: FinalizerOptions,
    *,
    owner: str,
    monotonic: Callable[[], float],
) -> RunningFinalizer:
    """Compose it from stores that are open already."""
    now, metrics = stores.now, stores.metrics
    spending = _spending(table, options.model, metrics, now)
    paid = None if options.model is None or spending is None else PaidModel(options.model.summarizer, spending)
    summarizing = Summarizing(paid, BuiltInSummarizer(), metrics, monotonic=monotonic)
    summaries, rolling = Summaries(table, now), RollingSummaries(table, stores, reader)
    finalizer = SessionFinalizer(
        table,
        stores,
        reader,
        SessionLeases(table, now, owner=owner, monotonic=monotonic),
        summaries,
        summarizing,
        Lessons(facts),
        rolling,
        Folding(table, summaries, now),
    )
    worker = FinalizerWorker(finalizer, has_cache=stores.cache is not None, runs=options.runs)
    return RunningFinalizer(finalizer, rolling, worker, summarizing, spending)


def _spending(
    table: ItemTable, model: ChosenModel | None, metrics: Metrics, now: Callable[[], datetime]
) -> Spending | None:
    return None if model is None else Spending(table, model.ceiling, model.price, metrics, now)


def _opened(model: AnthropicModel | BedrockModel) -> Summarizer:
    extra = "anthropic" if isinstance(model, AnthropicModel) else "bedrock"
    try:
        if isinstance(model, AnthropicModel):
            from mcp_memory_server.adapters.anthropic.summarizer import open_anthropic

            return open_anthropic(model.model, endpoint=model.endpoint, count=count_tokens)
        from mcp_memory_server.adapters.bedrock.summarizer import open_bedrock_summarizer

        return open_bedrock_summarizer(model.model, region=model.region, endpoint=model.endpoint, count=count_tokens)
    except ModuleNotFoundError as error:
        raise missing_package(extra, error) from error
