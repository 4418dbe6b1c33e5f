"""What a process remembers of its own writes, and when a cluster is avoided."""

import pytest

from mcp_memory_server.adapters.dax.health_gate import (
    FAILURES_IN_A_ROW,
    FIRST_PAUSE,
    LONGEST_PAUSE,
    HealthGate,
)
from mcp_memory_server.adapters.dax.own_writes import OwnWrites
from mcp_memory_server.adapters.dynamodb.values import Row
from mcp_memory_server.domain.kernel.items import Key
from mcp_memory_server.errors import ConflictError, TableUnavailableError

KEY, OTHER = Key("p", "1"), Key("p", "2")
KEPT = 60.0


class Moment:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def row(*operations: str) -> Row:
    padded = (*operations, None, None, None, None)[:4]
    return Row(KEY, {}, len(operations), None, padded)


@pytest.fixture
def moment() -> Moment:
    return Moment()


@pytest.fixture
def own(moment: Moment) -> OwnWrites:
    return OwnWrites(KEPT, most=2, clock=moment)


def is_fresh(own: OwnWrites, copy: Row | None, key: Key = KEY) -> bool:
    newest = own.last_write(key)
    return newest is None or newest.is_included_in(copy)


def test_a_copy_is_fresh_that_has_the_own_operation_among_its_last_ones(own: OwnWrites) -> None:
    with own.writing({KEY: "mine"}):
        pass

    assert is_fresh(own, row("mine"))
    assert is_fresh(own, row("later", "mine", "earlier"))
    assert not is_fresh(own, row("earlier"))
    assert not is_fresh(own, None)
    assert is_fresh(own, None, OTHER)


def test_after_a_removal_only_nothing_is_fresh(own: OwnWrites) -> None:
    with own.writing({KEY: None}):
        pass

    assert is_fresh(own, None)
    assert not is_fresh(own, row("mine"))


def test_after_a_write_that_may_have_happened_no_copy_is_fresh_until_the_table_is_asked(own: OwnWrites) -> None:
    with pytest.raises(TableUnavailableError), own.writing({KEY: "mine"}):
        raise TableUnavailableError("no answer")
    doubt = own.last_write(KEY)
    assert doubt is not None
    assert not is_fresh(own, row("mine"))

    own.confirm(KEY, row("theirs"), instead_of=doubt)

    assert is_fresh(own, row("theirs"))
    assert not is_fresh(own, row("mine"))


def test_a_conflict_changes_nothing(own: OwnWrites) -> None:
    with pytest.raises(ConflictError), own.writing({KEY: "mine"}):
        raise ConflictError("someone was first")

    assert is_fresh(own, row("earlier"))


def test_of_two_writes_at_once_nobody_knows_which_was_the_last(own: OwnWrites) -> None:
    with own.writing({KEY: "one"}), own.writing({KEY: "other"}):
        pass

    assert not is_fresh(own, row("one"))
    assert not is_fresh(own, row("other", "one"))


def test_what_the_table_said_is_no_news_after_a_later_write(own: OwnWrites) -> None:
    with own.writing({KEY: "one"}):
        pass
    before = own.last_write(KEY)
    assert before is not None
    with own.writing({KEY: "two"}):
        pass

    own.confirm(KEY, row("one"), instead_of=before)

    assert not is_fresh(own, row("one"))


def test_a_write_is_remembered_for_as_long_as_a_cache_may_have_what_was_before(own: OwnWrites, moment: Moment) -> None:
    with own.writing({KEY: "mine"}):
        pass
    moment.seconds = KEPT - 1
    assert not is_fresh(own, row("earlier"))

    moment.seconds = KEPT

    assert is_fresh(own, row("earlier"))


def test_when_there_are_too_many_to_remember_every_copy_is_doubtful(own: OwnWrites, moment: Moment) -> None:
    for number in range(3):
        with own.writing({Key("p", f"{number}"): "mine"}):
            pass

    assert not is_fresh(own, row("earlier"), Key("p", "0"))
    assert not is_fresh(own, row("x"), Key("never", "written"))
    moment.seconds = KEPT
    assert is_fresh(own, row("x"), Key("never", "written"))


def test_a_cluster_is_avoided_after_some_failures_and_tried_once_in_each_pause(moment: Moment) -> None:
    gate = HealthGate(moment)
    for _ in range(FAILURES_IN_A_ROW):
        assert gate.may_try()
        gate.failed()

    avoided = gate.may_try()
    moment.seconds += FIRST_PAUSE
    tries = [gate.may_try() for _ in range(5)]

    assert not avoided
    assert tries == [True, False, False, False, False]


def test_the_pauses_grow_to_a_limit_and_end_with_the_first_answer(moment: Moment) -> None:
    gate = HealthGate(moment)
    for _ in range(20):
        gate.failed()
    moment.seconds += LONGEST_PAUSE
    assert gate.may_try()

    gate.answered()

    assert all(gate.may_try() for _ in range(5))


def test_a_success_between_failures_keeps_the_cluster_in_use(moment: Moment) -> None:
    gate = HealthGate(moment)
    for _ in range(10):
        gate.failed()
        gate.failed()
        gate.answered()

    assert gate.may_try()
