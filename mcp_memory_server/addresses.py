"""Parses the addresses in settings: tables, caches, queues, models."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

TABLE_FORMS = (
    "sqlite:///path/to/file or dynamodb://table?region=eu-west-1, or dax://cluster:8111/table?region=eu-west-1 "
    "(daxs:// with TLS)"
)
SESSION_FORMS = "none, redis://host:6379/0 or rediss://user:password@host:6379"
OUTBOX_FORMS = "sqlite:, sqlite:///path/to/file, redis: (the one of the sessions) or none"
DEAD_LETTER_FORMS = "sqlite: (in the file of the outbox) or sqs://queue?region=eu-west-1"
SUMMARIZER_FORMS = "built-in, anthropic:claude-haiku-5-5, bedrock://MODEL_ID?region=eu-west-1 or none"

EMBEDDING_FORMS = (
    "built-in, static, none, model2vec:///path/to/folder, onnx:///path/to/folder or "
    "bedrock://amazon.titan-embed-text-v2:0?region=eu-west-1"
)

AUTH_FORMS = (
    "tokens: (those of `mcp-memory-server token`), or an issuer, "
    "https://login.example/?audience=https://memory.example/mcp, or several of them separated by spaces"
)

VECTOR_INDEX_FORMS = "the name of an index, 3 to 255 of A-Z a-z 0-9 _ . - only, or none"

FILE_NAME = "memory.db"
DAX_PORTS = {"dax": 8111, "daxs": 9111}
DAX_ITEM_SECONDS = 300
AWS_OPTIONS = frozenset({"region", "endpoint"})
DAX_OPTIONS = AWS_OPTIONS | {"item_ttl", "fresh"}


@dataclass(frozen=True)
class SqliteTable:
    """The embedded default: one file."""

    path: Path


@dataclass(frozen=True)
class DynamoDbTable:
    """A DynamoDB table. Without a region or an endpoint, those of the AWS configuration."""

    name: str
    region: str | None = None
    endpoint: str | None = None


@dataclass(frozen=True)
class DaxTable:
    """A DynamoDB table behind a DAX cluster, which caches an item for ``item_seconds``.

    Reads include the writes of their own process; with ``fresh_for_all`` those of every process.
    """

    cluster: str
    table: DynamoDbTable
    item_seconds: int = DAX_ITEM_SECONDS
    fresh_for_all: bool = False


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
class BuiltInModel:
    """The models that ship with the package: the small one alone, or also the fine one for short memories."""

    has_fine: bool = True


@dataclass(frozen=True)
class ModelFolder:
    """A model in a folder of this machine, for the library of this name."""

    library: Literal["model2vec", "onnx"]
    path: Path


@dataclass(frozen=True)
class BuiltInSummaries:
    """Summaries are made without a model: nothing leaves the machine."""


@dataclass(frozen=True)
class AnthropicModel:
    """A model of Anthropic. Its key is in ANTHROPIC_API_KEY, where Anthropic's client reads it."""

    model: str
    endpoint: str | None = None


@dataclass(frozen=True)
class BedrockModel:
    """A model of Amazon Bedrock: texts are sent there. Without a region, that of the AWS configuration."""

    model: str
    region: str | None = None
    endpoint: str | None = None
    dimensions: int | None = None


@dataclass(frozen=True)
class NamedIndex:
    """The vector index of this name, of the table on DynamoDB."""

    name: str


@dataclass(frozen=True)
class TokensInFile:
    """Tokens of this server's own; without a path, in the folder of its other files."""

    path: Path | None = None


@dataclass(frozen=True)
class Issuer:
    """An OAuth issuer whose tokens for one audience are accepted. Without a JWKS address, its metadata has it."""

    address: str
    audience: str
    jwks: str | None = None


@dataclass(frozen=True)
class Nowhere:
    """Not used: the setting is none."""


def parse_table(text: str) -> SqliteTable | DynamoDbTable | DaxTable:
    """Parse where memory is stored.

    Raises:
        ValueError: It has none of the known forms. The message shows them.
    """
    url = urlsplit(text)
    if url.scheme == "sqlite":
        return SqliteTable(_path(url) or data_folder() / FILE_NAME)
    if url.scheme == "dynamodb":
        return DynamoDbTable(*_aws_name(url, "table"))
    if url.scheme in DAX_PORTS:
        return _dax(url)
    raise _unknown(TABLE_FORMS, text)


def parse_sessions(text: str) -> RedisStore | Nowhere:
    """Parse where running sessions are cached. Errors do not quote the address: it may hold a password.

    A file of earlier releases, ``sqlite:`` or ``sqlite:///path``, means none: sessions are read from the table.

    Raises:
        ValueError: It has none of the known forms. The message shows them.
    """
    url = urlsplit(text)
    if text == "none" or url.scheme == "sqlite":
        return Nowhere()
    if url.scheme in ("redis", "rediss") and url.netloc:
        return RedisStore(text)
    raise ValueError(f"must be {SESSION_FORMS}")


def parse_outbox(text: str) -> LocalFile | RedisStore | Nowhere:
    """Parse where acknowledged turns wait for the table.

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
    """Parse where turns go that the table rejects.

    Raises:
        ValueError: It has none of the known forms. The message shows them.
    """
    url = urlsplit(text)
    if text == "sqlite:":
        return LocalFile()
    if url.scheme == "sqs":
        return SqsQueue(*_aws_name(url, "queue"))
    raise _unknown(DEAD_LETTER_FORMS, text)


def parse_embeddings(text: str) -> BuiltInModel | ModelFolder | BedrockModel | Nowhere:
    """Parse which model embeds texts.

    Raises:
        ValueError: It has none of the known forms. The message shows them.
    """
    if text in ("built-in", "static"):
        return BuiltInModel(has_fine=text == "built-in")
    if text == "none":
        return Nowhere()
    if text.startswith("bedrock://"):
        return _bedrock(text)
    # Not by the address's own scheme: one with a digit before the colon would be read as a host and its port.
    library, _, rest = text.partition("://")
    if library in ("model2vec", "onnx") and rest.strip("/"):
        return ModelFolder("onnx" if library == "onnx" else "model2vec", Path(unquote(rest)).expanduser().absolute())
    raise _unknown(EMBEDDING_FORMS, text)


def parse_vector_index(text: str) -> NamedIndex | Nowhere:
    """Parse the name of the vector index.

    Raises:
        ValueError: It cannot be the name of one.
    """
    if text == "none":
        return Nowhere()
    if not re.fullmatch(r"[A-Za-z0-9_.-]{3,255}", text):
        raise ValueError(f"must be {VECTOR_INDEX_FORMS}, got {text!r}")
    return NamedIndex(text)


def parse_auth(text: str) -> list[TokensInFile | Issuer]:
    """Parse who verifies tokens over HTTP; an empty text means nobody was named.

    Raises:
        ValueError: One of them has none of the known forms, or is not safe. The message shows them.
    """
    return [_token_source(part) for part in text.split()]


def parse_audit(text: str) -> str:
    """Parse where audit lines go.

    Raises:
        ValueError: It is neither ``none`` nor ``stderr`` nor the absolute path of a file.
    """
    if text not in ("none", "stderr") and not text.startswith("/"):
        raise ValueError(f"must be none, stderr or /path/to/file, got {text[:40]!r}")
    return text


def parse_hosts(text: str) -> list[str]:
    """Parse the names of the server: host, or host:port where that is not the default one.

    Raises:
        ValueError: One of them is not a name.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if not re.fullmatch(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?", name):
            raise ValueError(f"the names are written memory.example or memory.example:8443, got {name[:40]!r}")
    return names


def _token_source(text: str) -> TokensInFile | Issuer:
    url = urlsplit(text)
    if url.scheme == "tokens":
        return TokensInFile(_path(url))
    if url.scheme not in ("http", "https") or not url.hostname or "|" in text or "@" in url.netloc:
        raise _unknown(AUTH_FORMS, text)
    options = _options(url, frozenset({"audience", "jwks"}), "issuer")
    if not options.get("audience"):
        raise ValueError(f"an issuer needs the audience of its tokens; must be {AUTH_FORMS}")
    # As it is written, because tokens name the issuer exactly so.
    issuer = Issuer(text.partition("?")[0], options["audience"], options.get("jwks"))
    for address in (issuer.address, issuer.jwks or "https:"):
        parts = urlsplit(address)
        if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise ValueError("an issuer and its keys have an https:// address")
    return issuer


def _bedrock(text: str) -> BedrockModel:
    # A model id holds a colon, which an address would take for a port.
    model_id, _, query = text.removeprefix("bedrock://").partition("?")
    options = dict(parse_qsl(query, strict_parsing=bool(query)))
    if unknown := options.keys() - {"region", "endpoint", "dimensions"}:
        raise ValueError(
            f"{sorted(unknown)[0]!r} is not an option of a bedrock:// model; region, endpoint and dimensions are"
        )
    dimensions = options.get("dimensions")
    if not model_id or "/" in model_id or not (dimensions is None or dimensions.isdigit()):
        raise ValueError("a model is written bedrock://amazon.titan-embed-text-v2:0?region=eu-west-1&dimensions=256")
    length = None if dimensions is None else int(dimensions)
    return BedrockModel(model_id, options.get("region"), options.get("endpoint"), length)


def parse_summarizer(text: str) -> BuiltInSummaries | AnthropicModel | BedrockModel | Nowhere:
    """Parse which summarizer is used.

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
    options = _options(url, AWS_OPTIONS, what)
    if not url.netloc or url.path.strip("/"):
        raise ValueError(f"a {what} is written {url.scheme}://{what}?region=eu-west-1")
    return url.netloc, options.get("region"), options.get("endpoint")


def _dax(url: SplitResult) -> DaxTable:
    options, name = _options(url, DAX_OPTIONS, "table"), url.path.strip("/")
    if not url.hostname or "@" in url.netloc or not name or "/" in name:
        example = f"{url.scheme}://cluster:{DAX_PORTS[url.scheme]}/table?region=eu-west-1"
        raise ValueError(f"a table behind DAX is written {example}")
    seconds, fresh = options.get("item_ttl", str(DAX_ITEM_SECONDS)), options.get("fresh", "own")
    if not seconds.isascii() or not seconds.isdigit():
        raise ValueError(f"item_ttl is for how many seconds the cluster keeps an item, got {seconds!r}")
    if fresh not in ("own", "all"):
        raise ValueError(f"fresh is own or all: whose writes a read has at once, got {fresh!r}")
    cluster = f"{url.scheme}://{url.hostname}:{url.port or DAX_PORTS[url.scheme]}"
    table = DynamoDbTable(name, options.get("region"), options.get("endpoint"))
    return DaxTable(cluster, table, int(seconds), fresh == "all")


def _options(url: SplitResult, known: frozenset[str], what: str) -> dict[str, str]:
    options = dict(parse_qsl(url.query, strict_parsing=bool(url.query)))
    if unknown := options.keys() - known:
        *others, last = sorted(known, key=["region", "endpoint", "item_ttl", "fresh", "audience", "jwks"].index)
        raise ValueError(
            f"{sorted(unknown)[0]!r} is not an option of a {url.scheme}:// {what}; {', '.join(others)} and {last} are"
        )
    return options


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
