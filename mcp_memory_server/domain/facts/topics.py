"""Topics: paths such as ``personal/location/city``, of which any prefix can be asked for."""

from mcp_memory_server.domain.kernel.items import byte_length
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
    """Tell whether the topic is this one or lies below it, in whatever case they are written."""
    if topic is None:
        return False
    folded, below = topic.casefold(), prefix.casefold()
    return folded == below or folded.startswith(below + "/")


def same_topic(one: str | None, other: str | None) -> bool:
    """Tell whether both are the same topic, in whatever case they are written."""
    return one is not None and other is not None and one.casefold() == other.casefold()


def narrower(topic: str | None, new: str | None) -> str | None:
    """Return the topic of what is said under two: the first, unless the new one lies below it."""
    if topic is None or new is None:
        return topic or new
    return topic if same_topic(topic, new) or not is_under(new, topic) else new
