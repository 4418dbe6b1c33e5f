"""Resources: the memory in Markdown for people to read."""

from urllib.parse import unquote

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, ReadResourceResult, Resource, ResourceTemplate, TextResourceContents

from mcp_memory_server.domain.facts.fact import Fact, Standing
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.text import one_line
from mcp_memory_server.errors import NotFoundError
from mcp_memory_server.memory import Memory

MARKDOWN = "text/markdown"
CONTEXT_TOKENS = 2000
LONGEST_PAGE = 256 * 1024
LONGEST_URI = 2000

RESOURCES = [
    Resource(uri="memory://context", name="context", title="What a conversation starts with", mime_type=MARKDOWN),
    Resource(uri="memory://preferences", name="preferences", title="All preferences", mime_type=MARKDOWN),
    Resource(uri="memory://facts", name="facts", title="All facts", mime_type=MARKDOWN),
]
TEMPLATES = [
    ResourceTemplate(
        uri_template="memory://facts{/topic}", name="facts-by-topic", title="Facts below a topic", mime_type=MARKDOWN
    ),
]

_FACTS = "memory://facts/"


async def read_resource(memory: Memory, scope: Scope, uri: str) -> ReadResourceResult:
    """Return the resource as Markdown.

    Raises:
        MCPError: There is no such resource, or nothing is known under the topic.
    """
    if uri == "memory://context":
        text = (await memory.context.load(scope, max_tokens=CONTEXT_TOKENS)).text
    elif uri == "memory://preferences":
        text = await _preferences(memory, scope)
    elif uri == "memory://facts":
        text = _facts("All facts", await memory.facts.all(scope), await memory.facts.missing(scope))
    elif uri.startswith(_FACTS):
        text = await _facts_below(memory, scope, unquote(uri.removeprefix(_FACTS)))
    else:
        have = ", ".join(str(resource.uri) for resource in RESOURCES)
        message = f"there is no resource {uri[:80]!r}; there are {have} and memory://facts/<topic>"
        raise MCPError(INVALID_PARAMS, message, {"uri": uri[:LONGEST_URI]})
    if len(text) > LONGEST_PAGE:
        kept = text[:LONGEST_PAGE].rpartition("\n")[0]
        text = f"{kept}\n\nThe rest does not fit here: use recall, or a topic: memory://facts/<topic>."
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=MARKDOWN, text=text)])


async def _preferences(memory: Memory, scope: Scope) -> str:
    preferences = await memory.preferences.all(scope)
    lines = [f"- {one_line(entry.key)}: {one_line(entry.value)} ({entry.set_by.value})" for entry in preferences]
    return "\n".join(["# All preferences", "", *(lines or ["None yet."])])


async def _facts_below(memory: Memory, scope: Scope, topic: str) -> str:
    facts = await memory.facts.all(scope, topic)
    if not facts:
        raise NotFoundError(f"nothing is known under the topic {topic!r}")
    return _facts(f"Facts below {one_line(topic)}", facts, await memory.facts.missing(scope))


def _facts(title: str, facts: list[Fact], missing: tuple[str, ...]) -> str:
    incomplete = [f"Incomplete: {sentence}.\n" for sentence in missing]
    return "\n".join([f"# {title}", "", *incomplete, *([_line(fact) for fact in facts] or ["None yet."])])


def _line(fact: Fact) -> str:
    place = "no topic" if fact.topic is None else one_line(fact.topic)
    guess = ", unconfirmed" if fact.standing is Standing.CANDIDATE else ""
    times = "".join(f", {name} {day}" for name, day in (("since", fact.since), ("until", fact.until)) if day)
    learned = f"learned {fact.valid_from:%Y-%m-%d}"
    return f"- {one_line(fact.text)} ({place}, {fact.source.value}{guess}{times}, {learned}, id {fact.id})"
