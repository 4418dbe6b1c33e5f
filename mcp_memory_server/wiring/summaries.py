"""Choosing what sums sessions up, and putting together what looks after them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from mcp_memory_server.adapters.built_in.summarizer import BuiltInSummarizer
from mcp_memory_server.adapters.tiktoken.token_counter import count_tokens
from mcp_memory_server.addresses import AnthropicModel, BedrockModel, BuiltInSummaries, Nowhere, parse_summarizer
from mcp_memory_server.domain.facts.fact import Fact, Statement
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.spending import Ceiling, Price, parse_ceiling, parse_prices, price_of
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.ports.summarizer import Summarizer
from mcp_memory_server.services.facts.facts import Facts
from mcp_memory_server.services.kernel.spending import Spending
from mcp_memory_server.services.sessions.session_reader import SessionReader
from mcp_memory_server.services.sessions.session_stores import SessionStores
from mcp_memory_server.services.summaries.ending_leases import Endings
from mcp_memory_server.services.summaries.finalizer import SessionCare
from mcp_memory_server.services.summaries.finalizer_worker import Caretaker
from mcp_memory_server.services.summaries.folding import Folding
from mcp_memory_server.services.summaries.rolling_summaries import RollingSummaries
from mcp_memory_server.services.summaries.session_ends import Knowledge, SessionEnds
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
class Care:
    """How sessions are looked after. Without a model the built-in summarizer does; ``runs`` says in the background."""

    model: ChosenModel | None = None
    runs: bool = False


def chosen_care(settings: Settings) -> Care:
    """Open what the settings name. Nothing is sent before a session is summed up.

    Raises:
        ConfigurationError: A package is missing, or it is not known what the model costs.
    """
    match parse_summarizer(settings.summarizer):
        case Nowhere():
            return Care(runs=False)
        case BuiltInSummaries():
            return Care(runs=True)
        case AnthropicModel() | BedrockModel() as model:
            price = price_of(model.model, parse_prices(settings.prices))
            return Care(ChosenModel(_opened(model), price, parse_ceiling(settings.spending)), runs=True)


@dataclass(frozen=True)
class LookedAfter:
    """What looks after sessions, and the purse of the model, if there is one."""

    care: SessionCare
    caretaker: Caretaker
    summarizing: Summarizing
    spending: Spending | None

    async def close(self) -> None:
        """Finish what is under way, as far as that goes in time."""
        await self.caretaker.close()
        await self.summarizing.close()


def look_after(
    table: ItemTable,
    stores: SessionStores,
    reader: SessionReader,
    facts: Facts,
    chosen: Care,
    *,
    owner: str,
    monotonic: Callable[[], float],
) -> LookedAfter:
    """Put it together over stores that are open already."""
    now, metrics = stores.now, stores.metrics
    spending = _spending(table, chosen.model, metrics, now)
    paid = None if chosen.model is None or spending is None else PaidModel(chosen.model.summarizer, spending)
    summarizing = Summarizing(paid, BuiltInSummarizer(), metrics, monotonic=monotonic)
    summaries, endings = Summaries(table, now), Endings(table, now, owner=owner)
    ends = SessionEnds(table, reader, endings, summaries, summarizing, _knowledge(facts), now)
    rolling, folding = RollingSummaries(table, stores, reader), Folding(table, summaries, now)
    care = SessionCare(stores, endings, ends, rolling, folding)
    caretaker = Caretaker(care, has_cache=stores.copies is not None, runs=chosen.runs)
    return LookedAfter(care, caretaker, summarizing, spending)


def _spending(
    table: ItemTable, model: ChosenModel | None, metrics: Metrics, now: Callable[[], datetime]
) -> Spending | None:
    return None if model is None else Spending(table, model.ceiling, model.price, metrics, now)


def _knowledge(facts: Facts) -> Knowledge:
    async def known(scope: Scope) -> Sequence[Fact]:
        return await facts.all(Scope(scope.user_id))

    async def learn(scope: Scope, statement: Statement, operation_id: str) -> None:
        await facts.learn(Scope(scope.user_id), statement, operation_id=operation_id)

    return Knowledge(known, learn)


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
