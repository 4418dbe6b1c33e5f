"""The line of a context page that names the topics in use, so that writers use them again."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from mcp_memory_server.domain.kernel.text import one_line
from mcp_memory_server.domain.recall.replies.answers import Count

MOST_TOPIC_TOKENS = 60
TOPICS_CONSIDERED = 300


def topics_line(topics: Mapping[str, int], count: Count, room: int) -> str:
    """Return the most used topics that fit into this many tokens; "" if none fits."""
    room = min(MOST_TOPIC_TOKENS, room)
    line = ""
    for shown, names in enumerate(_ever_more_topics(topics), 1):
        longer = f"Topics in use: {names}{'' if shown == len(topics) else ', …'}"
        if count(longer) > room:
            break
        line = longer
    return line


def _ever_more_topics(topics: Mapping[str, int]) -> Iterator[str]:
    """Yield lists of one topic, two topics and so on, the most used first, grouped by their first part."""
    used = sorted(islice(topics.items(), TOPICS_CONSIDERED), key=lambda entry: (-entry[1], entry[0]))
    groups: dict[str, list[str]] = {}
    for topic, _ in used:
        head, _, rest = one_line(topic).partition("/")
        below = groups.setdefault(head, [])
        below += [rest] if rest else []
        yield ", ".join(_group(head, names, topics) for head, names in groups.items())


def _group(head: str, below: Sequence[str], topics: Mapping[str, int]) -> str:
    if not below:
        return head
    names = f"{head}/{below[0]}" if len(below) == 1 else f"{head}/{{{', '.join(below)}}}"
    return f"{head}, {names}" if head in topics else names
