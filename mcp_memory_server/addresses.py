"""Addresses: what people type to say where things are kept, and what it means."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

TABLE_FORMS = "sqlite:///path/to/file or dynamodb://table?region=eu-west-1"
SESSION_FORMS = "sqlite:, sqlite:///path/to/file, redis://host:6379/0, rediss://user:password@host:6379 or none"
OUTBOX_FORMS = "sqlite:, sqlite:///path/to/file, redis: (the one of the sessions) or none"
DEAD_LETTER_FORMS = "sqlite: (in the file of the outbox) or sqs://queue?region=eu-west-1"
SUMMARIZER_FORMS = "built-in, anthropic:claude-haiku-5-5, bedrock://MODEL_ID?region=eu-west-1 or none"

FILE_NAME = "memory.db"


@dataclass(frozen=True)
class SqliteTable:
    """The embedded default: one file."""

    path: Path


@dataclass(frozen=True)
class DynamoDbTable:
    """A DynamoDB table. Without a region or an endpoint, what the AWS configuration says."""

    name: str
    region: str | None = None
    endpoint: str | None = None


@dataclass(frozen=True)
class LocalFile:
    """A file of this machine; without a path, one beside the table."""

    path: Path | None = None


@dataclass(frozen=True)
class RedisStore:
    """A Redis; for an outbox, the one of the sessions. Its address may hold a password."""

    url: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class SqsQueue:
    """A queue of Amazon SQS."""

    name: str
    region: str | None = None
    endpoint: str | None = None


@dataclass(frozen=True)
class BuiltInSummaries:
    """Summaries are made without a model: nothing leaves the machine."""


@dataclass(frozen=True)
class AnthropicModel:
    """A model of Anthropic. Its key is in ANTHROPIC_API_KEY, as Anthropic's own client reads it."""

    model: str
    endpoint: str | None = None


@dataclass(frozen=True)
class BedrockModel:
    """A model of Amazon Bedrock. Without a region or an endpoint, what the AWS configuration says."""

    model: str
    region: str | None = None
    endpoint: str | None = None


@dataclass(frozen=True)
class Nowhere:
    """It is done without."""


def parse_table(text: str) -> SqliteTable | DynamoDbTable:
    """Read where memory is kept.

    Raises:
        ValueError: It has none of the known forms. The message shows them.
    """
    url = urlsplit(text)
    if url.scheme == "sqlite":
        return SqliteTable(_path(url) or data_folder() / FILE_NAME)
    if url.scheme == "dynamodb":
        return DynamoDbTable(*_aws_name(url, "table"))
    raise _unknown(TABLE_FORMS, text)


def parse_sessions(text: str) -> LocalFile | RedisStore | Nowhere:
    """Read where running sessions are kept at hand. What it says is not repeated: it may hold a password.

    Raises:
        ValueError: It has none of the known forms. The message shows them.
    """
    url = urlsplit(text)
    if text == "none":
        return Nowhere()
    if url.scheme == "sqlite":
        return LocalFile(_path(url))
    if url.scheme in ("redis", "rediss") and url.netloc:
        return RedisStore(text)
    raise ValueError(f"must be {SESSION_FORMS}")


def parse_outbox(text: str) -> LocalFile | RedisStore | Nowhere:
    """Read where acknowledged turns wait for the table.

    Raises:
        ValueError: It has none of the known forms. The message shows them.
    """
    url = urlsplit(text)
    if text == "none":
        return Nowhere()
    if url.scheme == "sqlite":
        return LocalFile(_path(url))
    if text == "redis:":
        return RedisStore()
    raise _unknown(OUTBOX_FORMS, text)


def parse_dead_letters(text: str) -> LocalFile | SqsQueue:
    """Read where turns go that the table will not take.

    Raises:
        ValueError: It has none of the known forms. The message shows them.
    """
    url = urlsplit(text)
    if text == "sqlite:":
        return LocalFile()
    if url.scheme == "sqs":
        return SqsQueue(*_aws_name(url, "queue"))
    raise _unknown(DEAD_LETTER_FORMS, text)


def parse_summarizer(text: str) -> BuiltInSummaries | AnthropicModel | BedrockModel | Nowhere:
    """Read what sums sessions up.

    Raises:
        ValueError: It has none of the known forms. The message shows them.
    """
    if text in ("built-in", "none"):
        return BuiltInSummaries() if text == "built-in" else Nowhere()
    kind, _, rest = text.partition(":")
    model, _, query = rest.removeprefix("//").partition("?")
    if kind not in ("anthropic", "bedrock") or not model:
        raise _unknown(SUMMARIZER_FORMS, text)
    options = dict(parse_qsl(query, strict_parsing=bool(query)))
    known = {"endpoint"} if kind == "anthropic" else {"region", "endpoint"}
    if unknown := options.keys() - known:
        raise ValueError(
            f"{sorted(unknown)[0]!r} is not an option of a model at {kind}; {' and '.join(sorted(known))} are"
        )
    if kind == "anthropic":
        return AnthropicModel(model, options.get("endpoint"))
    # An id may hold slashes and colons: an inference profile is named by its ARN.
    return BedrockModel(unquote(model), options.get("region"), options.get("endpoint"))


def data_folder() -> Path:
    """Return the folder for the user's data."""
    # Imported here: only the default needs to know where that is.
    from platformdirs import user_data_path

    return user_data_path("mcp-memory-server", appauthor=False)


def _aws_name(url: SplitResult, what: str) -> tuple[str, str | None, str | None]:
    options = dict(parse_qsl(url.query, strict_parsing=bool(url.query)))
    if unknown := options.keys() - {"region", "endpoint"}:
        raise ValueError(
            f"{sorted(unknown)[0]!r} is not an option of a {url.scheme}:// {what}; region and endpoint are"
        )
    if not url.netloc or url.path.strip("/"):
        raise ValueError(f"a {what} is written {url.scheme}://{what}?region=eu-west-1")
    return url.netloc, options.get("region"), options.get("endpoint")


def _path(url: SplitResult) -> Path | None:
    """Return the file, None if none is named."""
    if url.netloc:
        raise ValueError("a file is written sqlite:///path/to/file, with three slashes")
    path = unquote(url.path)
    if path in ("", "/"):
        return None
    # sqlite:////var/lib/x and sqlite:///var/lib/x both occur in the wild; a Windows drive has no slash before it.
    path = re.sub(r"^/+(?=~|[A-Za-z]:)", "", re.sub(r"^/+", "/", path))
    return Path(path).expanduser().absolute()


def _unknown(forms: str, text: str) -> ValueError:
    return ValueError(f"must be {forms}, got a value that begins with {text.partition(':')[0][:20]!r}")
