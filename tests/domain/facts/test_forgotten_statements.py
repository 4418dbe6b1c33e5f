"""A forgotten statement is learned again only if the user confirms it afterwards."""

import pytest

from mcp_memory_server.domain.facts.fact import Outcome, Source, Statement, Tombstone
from mcp_memory_server.domain.facts.learning import learn
from mcp_memory_server.errors import ForgottenError
from tests.domain.samples import CITY, DAY, NOON, fact

FORGOTTEN = Tombstone(fact("Lives in Bern").fingerprint, NOON)
LATER = NOON + DAY


@pytest.mark.parametrize("source", [Source.INFERRED, Source.USER_STATED])
def test_a_forgotten_statement_is_not_learned_again_from_text(source: Source) -> None:
    with pytest.raises(ForgottenError, match="2026-03-01"):
        learn(Statement("Lives in Bern", topic=CITY, source=source), LATER, tombstone=FORGOTTEN)


def test_a_forgotten_statement_is_learned_again_when_the_user_confirms_it() -> None:
    learning = learn(Statement("Lives in Bern", source=Source.CONFIRMED), LATER, tombstone=FORGOTTEN)

    assert learning.outcome is Outcome.LEARNED
    assert learning.lifts_tombstone


@pytest.mark.parametrize("days_before", [0, 1, 400])
def test_even_a_confirmation_does_not_count_if_it_was_said_before(days_before: int) -> None:
    old = Statement("Lives in Bern", source=Source.CONFIRMED, said_at=NOON - days_before * DAY)

    with pytest.raises(ForgottenError):
        learn(old, LATER, tombstone=FORGOTTEN)


def test_a_confirmation_said_afterwards_counts() -> None:
    statement = Statement("Lives in Bern", source=Source.CONFIRMED, said_at=NOON + DAY / 2)

    assert learn(statement, LATER, tombstone=FORGOTTEN).lifts_tombstone


def test_the_refusal_does_not_repeat_what_was_forgotten() -> None:
    with pytest.raises(ForgottenError) as refusal:
        learn(Statement("Lives in Bern"), LATER, tombstone=FORGOTTEN)

    assert "Bern" not in str(refusal.value)
    assert "source='confirmed'" in str(refusal.value)
