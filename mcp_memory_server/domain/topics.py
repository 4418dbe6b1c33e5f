"""Topics: paths such as ``personal/location/city``, of which any prefix can be asked for."""

from mcp_memory_server.domain.items import byte_length
from mcp_memory_server.errors import InvalidRequestError

MAX_TOPIC_BYTES = 256
EXAMPLE = "personal/location/city"


def checked_topic(topic: str) -> str:
    """Return the topic of one fact.

    Raises:
        InvalidRequestError: It is empty, too long, or has an empty part.
    """
    length = byte_length("topic", topic)
    if length > MAX_TOPIC_BYTES:
        raise InvalidRequestError(f"topic must be at most {MAX_TOPIC_BYTES} bytes long, got {length}")
    if any(not part.strip() for part in topic.split("/")):
        raise InvalidRequestError(f"topic must be parts joined by single slashes, like {EXAMPLE!r}, got {topic!r}")
    return topic


def checked_prefix(prefix: str) -> str:
    """Return what facts are to be listed under: ``personal`` and ``personal/`` mean the same."""
    return checked_topic(prefix.removesuffix("/"))


def is_under(topic: str | None, prefix: str) -> bool:
    """Tell whether the topic is this one or lies below it."""
    return topic is not None and (topic == prefix or topic.startswith(prefix + "/"))
