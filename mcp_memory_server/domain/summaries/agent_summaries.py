"""Summaries that an agent writes itself when it ends a session: kept as they are, but for secrets."""

from dataclasses import dataclass, replace

from mcp_memory_server.domain.kernel.redaction import redacted_text
from mcp_memory_server.domain.kernel.text import checked_text, one_line, shortened
from mcp_memory_server.domain.language.sentences import LONGEST_SENTENCE, sentences
from mcp_memory_server.domain.summaries.summary import Summary, question_key
from mcp_memory_server.errors import InvalidRequestError

AGENT = "agent"
"""What a summary of this kind says that it was made by."""
MAX_SUMMARY_BYTES = 4 * 1024
MAX_QUESTION_BYTES = 1024
MOST_OPEN_QUESTIONS = 10
MOST_EARLIER_SENTENCES = 3
"""Of the agent's summary, when the session goes on after it and is summed up again."""


@dataclass(frozen=True)
class AgentSummary:
    """What the agent says of a session: what it came to, and what is still open. One of them is enough."""

    text: str | None = None
    open_questions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.text is not None:
            object.__setattr__(self, "text", checked_text("summary", self.text, MAX_SUMMARY_BYTES))
        if len(self.open_questions) > MOST_OPEN_QUESTIONS:
            raise InvalidRequestError(
                f"open_questions may be {MOST_OPEN_QUESTIONS} at most, got {len(self.open_questions)}; "
                "keep those that the next conversation needs"
            )
        checked = tuple(checked_text("open_questions", one, MAX_QUESTION_BYTES) for one in self.open_questions)
        object.__setattr__(self, "open_questions", checked)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences of the text, without secrets."""
        return tuple(map(_without_secrets, sentences(self.text or "")))

    @property
    def questions(self) -> tuple[str, ...]:
        """The open questions, each on one line and without secrets."""
        return tuple(_without_secrets(shortened(one_line(one), LONGEST_SENTENCE)) for one in self.open_questions)


def as_written(drafted: Summary, written: AgentSummary) -> Summary:
    """Return the summary with the agent's words in place of those that were drafted without it."""
    return replace(
        drafted,
        discussed=written.sentences or drafted.discussed,
        unresolved=written.questions or (drafted.unresolved if written.text is None else ()),
        made_by=AGENT,
    )


def continued(written: Summary, later: Summary) -> Summary:
    """Return the summary of a session that went on after its agent had summed it up."""
    questions = {question_key(one): one for one in (*written.unresolved, *later.unresolved)}
    return replace(
        later,
        since=written.since,
        discussed=(*written.discussed[:MOST_EARLIER_SENTENCES], *later.discussed),
        preferences=tuple(dict.fromkeys((*written.preferences, *later.preferences))),
        unresolved=tuple(question for key, question in questions.items() if key not in later.resolved),
        resolved=written.resolved | later.resolved,
        topics={**written.topics, **later.topics},
    )


def _without_secrets(line: str) -> str:
    return redacted_text(line, LONGEST_SENTENCE)
