"""Topics: paths such as ``personal/location/city``. Any prefix of a path can be queried."""

from mcp_memory_server.domain.kernel.items import byte_length
from mcp_memory_server.errors import InvalidRequestError

MAX_TOPIC_BYTES = 256
EXAMPLE = "personal/location/city"


def checked_topic(topic: str) -> str:
    """Return the topic of one fact unchanged.

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
    """Return the prefix under which facts are listed: ``personal`` and ``personal/`` mean the same."""
    return checked_topic(prefix.removesuffix("/"))


def is_under(topic: str | None, prefix: str) -> bool:
    """Check whether the topic is this prefix or lies below it, ignoring case."""
    if topic is None:
        return False
    folded, below = topic.casefold(), prefix.casefold()
    return folded == below or folded.startswith(below + "/")


def same_topic(one: str | None, other: str | None) -> bool:
    """Check whether both are the same topic, ignoring case."""
    return one is not None and other is not None and one.casefold() == other.casefold()


def narrower(topic: str | None, new: str | None) -> str | None:
    """Return the topic of a fact that was given two: the first one, unless the new one lies below it."""
    if topic is None or new is None:
        return topic or new
    return topic if same_topic(topic, new) or not is_under(new, topic) else new
