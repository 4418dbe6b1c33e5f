"""Facts that were true at an earlier time are selected by their period first, then by when they were learned."""

from dataclasses import replace
from datetime import UTC, date, datetime

from mcp_memory_server.domain.facts.as_of import facts_true_at, learned_later
from mcp_memory_server.domain.facts.fact import Fact, Permanence, Standing, ended
from tests.domain.samples import DAY, NOON, fact

LONG_AGO = datetime(2015, 6, 1, tzinfo=UTC)


def then(moment: datetime, *facts: Fact) -> list[str]:
    named = {f"{number}": one for number, one in enumerate(facts)}
    return [named[name].text for name in facts_true_at(named, moment)]


def test_a_fact_with_a_start_was_true_from_then_on_although_it_was_learned_later() -> None:
    born = replace(fact("Ana lives in Bern"), since=date(2014, 1, 1))

    assert then(LONG_AGO, born) == ["Ana lives in Bern"]
    assert then(datetime(2013, 12, 31, tzinfo=UTC), born) == []
    assert not learned_later(born, LONG_AGO)


def test_a_fact_with_an_end_was_true_on_its_last_day_and_not_after_it() -> None:
    acme = replace(fact("Ana worked at Acme"), since=date(2010, 1, 1), until=date(2015, 6, 1))

    assert then(datetime(2015, 6, 1, 23, 59, tzinfo=UTC), acme) == ["Ana worked at Acme"]
    assert then(datetime(2015, 6, 2, tzinfo=UTC), acme) == []


def test_without_a_start_the_first_value_counts_as_true_before_it_was_learned() -> None:
    basel = replace(fact("Ana lives in Basel"), valid_from=NOON + DAY)
    bern = ended(fact("Ana lives in Bern"), NOON + DAY, by=basel.fingerprint)

    assert then(LONG_AGO, basel, bern) == ["Ana lives in Bern"]
    assert then(NOON, basel, bern) == ["Ana lives in Bern"]
    assert then(NOON + 2 * DAY, basel, bern) == ["Ana lives in Basel"]
    assert (learned_later(bern, LONG_AGO), learned_later(bern, NOON)) == (True, False)


def test_history_of_an_earlier_release_is_linked_by_its_times() -> None:
    basel = replace(fact("Ana lives in Basel"), valid_from=NOON + DAY)

    assert then(LONG_AGO, basel, ended(fact("Ana lives in Bern"), NOON + DAY)) == ["Ana lives in Bern"]


def test_under_a_single_valued_topic_only_the_first_value_counts_as_true_before() -> None:
    acme = replace(fact("Ana worked at Acme", "work/employer"), until=date(2019, 1, 1))
    globex = fact("Ana works at Globex", "work/employer")

    assert then(LONG_AGO, globex, acme) == ["Ana worked at Acme"]
    assert then(datetime(2020, 1, 1, tzinfo=UTC), globex, acme) == ["Ana works at Globex"]


def test_under_a_topic_with_many_values_each_counts_as_true_before() -> None:
    nuts, milk = fact("Ana is allergic to nuts", "allergies"), fact("Ana is allergic to milk", "allergies")

    assert then(LONG_AGO, nuts, milk) == ["Ana is allergic to nuts", "Ana is allergic to milk"]


def test_a_transient_fact_was_not_true_before_it_was_said() -> None:
    travels = fact("Ana travels", permanence=Permanence.TRANSIENT)
    dentist = fact("Ana sees the dentist on 2026-04-01.")

    assert then(LONG_AGO, travels, dentist) == []
    assert then(NOON, travels, dentist) == ["Ana travels", "Ana sees the dentist on 2026-04-01."]
    assert then(NOON + 40 * DAY, travels, dentist) == []


def test_a_candidate_was_never_true() -> None:
    assert then(NOON, replace(fact("Ana lives in Rome"), standing=Standing.CANDIDATE)) == []
