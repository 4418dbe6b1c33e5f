"""The cost of models: prices, daily limits, and whether one more request fits under them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mcp_memory_server.errors import ConfigurationError

PRICES_OF = "2026-11-18"
"""The day on which the prices below were looked up."""

MICROS = 1_000_000
"""Money is counted in millionths of a dollar, as integers, so that sums are exact."""

CEILING_FORMS = "dollars=10,user-dollars=0.10,tokens=50000000,user-tokens=500000 (any of them), or none"
PRICE_FORMS = "model=INPUT/OUTPUT in dollars for a million tokens, for example claude-haiku-5-5=0.10/0.50"
DEFAULT_CEILING = "dollars=10,user-dollars=0.10"


@dataclass(frozen=True)
class Tokens:
    """Input and output tokens of a request."""

    input: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        """Input and output together."""
        return self.input + self.output

    def __sub__(self, other: "Tokens") -> "Tokens":
        return Tokens(self.input - other.input, self.output - other.output)


@dataclass(frozen=True)
class Price:
    """The price of a million tokens, in dollars."""

    input: float
    output: float

    def micros(self, tokens: Tokens) -> int:
        """Return the cost of these tokens in millionths of a dollar."""
        return round(tokens.input * self.input + tokens.output * self.output)


# For prompts up to 100,000 tokens; a summary never asks with more.
DEFAULT_PRICES: Mapping[str, Price] = {
    "claude-haiku-5-5": Price(0.10, 0.50),
    "claude-haiku-4-5": Price(1.00, 5.00),
    "claude-sonnet-5-5": Price(2.00, 10.00),
    "claude-opus-5-5": Price(4.00, 20.00),
}


@dataclass(frozen=True)
class Limit:
    """The most that may be spent in a day; None means no limit."""

    tokens: int | None = None
    micros: int | None = None

    def allows(self, spent: "Spent") -> bool:
        """Check whether this amount is within the limit."""
        return (self.tokens is None or spent.tokens <= self.tokens) and (
            self.micros is None or spent.micros <= self.micros
        )

    def share(self, spent: "Spent") -> float:
        """Return the spent share of the limit, 1 for all of it; of tokens and money the larger share."""
        pairs = ((spent.tokens, self.tokens), (spent.micros, self.micros))
        return max((used / most if most else 1.0 for used, most in pairs if most is not None), default=0.0)


@dataclass(frozen=True)
class Ceiling:
    """The daily limits for all users together and for each user."""

    everybody: Limit = field(default_factory=Limit)
    each_user: Limit = field(default_factory=Limit)


@dataclass(frozen=True)
class Spent:
    """What was spent: tokens, and millionths of a dollar."""

    tokens: int = 0
    micros: int = 0

    @property
    def dollars(self) -> float:
        """The money in dollars."""
        return self.micros / MICROS


def parse_ceiling(text: str) -> Ceiling:
    """Parse daily limits.

    Raises:
        ValueError: The text does not have the expected form. The message shows the form.
    """
    if text.strip() == "none":
        return Ceiling()
    amounts: dict[str, float] = {}
    for name, value in _entries(text, CEILING_FORMS):
        if name not in ("dollars", "tokens", "user-dollars", "user-tokens"):
            raise ValueError(f"must be {CEILING_FORMS}, got {name!r}")
        amounts[name] = _amount(value, CEILING_FORMS)
    return Ceiling(_limit(amounts, ""), _limit(amounts, "user-"))


def parse_prices(text: str) -> Mapping[str, Price]:
    """Parse prices and merge them over the default ones.

    Raises:
        ValueError: The text does not have the expected form. The message shows the form.
    """
    prices = dict(DEFAULT_PRICES)
    for model, price in _entries(text, PRICE_FORMS):
        taken, _, given = price.partition("/")
        prices[model] = Price(_amount(taken, PRICE_FORMS), _amount(given, PRICE_FORMS))
    return prices


def price_of(model: str, prices: Mapping[str, Price]) -> Price:
    """Return the price of a model. Its id may contain more than its name: a provider, a region, a version.

    Raises:
        ConfigurationError: The price is unknown.
    """
    for name in sorted(prices, key=len, reverse=True):
        if name in model:
            return prices[name]
    raise ConfigurationError(
        f"it is not known what {model!r} costs, so no ceiling could hold; set MCP_MEMORY_PRICES={model}=INPUT/OUTPUT, "
        "in dollars for a million tokens"
    )


def _limit(amounts: Mapping[str, float], of: str) -> Limit:
    tokens, dollars = amounts.get(f"{of}tokens"), amounts.get(f"{of}dollars")
    return Limit(None if tokens is None else int(tokens), None if dollars is None else round(dollars * MICROS))


def _entries(text: str, forms: str) -> Iterator[tuple[str, str]]:
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = entry.partition("=")
        if not equals:
            raise ValueError(f"must be {forms}, got {entry!r}")
        yield name.strip(), value.strip()


def _amount(text: str, forms: str) -> float:
    try:
        amount = float(text.replace("_", ""))
    except ValueError:
        amount = -1.0
    if not 0 <= amount < 1e12:
        raise ValueError(f"must be {forms}, got {text!r}")
    return amount
