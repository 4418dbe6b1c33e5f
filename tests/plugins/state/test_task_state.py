"""A task: its steps, how long they took, and when its time is over."""

import pytest

from agent_plugins.state.changes import (
    begin_task,
    end_call,
    end_task,
    fail_step,
    finish_step,
    plan_step,
    skip_step,
    start_call,
    start_step,
    time_out_steps,
)
from agent_plugins.state.session_state import Change, SessionState
from agent_plugins.state.task_state import MOST_STEPS, StepStatus, Task
from mcp_memory_server import NotFoundError


def after(*changes: Change) -> Task:
    state = begin_task("order a book", budget=60, task_id="t1", now=100.0)(SessionState())
    for change in changes:
        state = change(state)
    assert state.task is not None
    return state.task


def test_a_step_is_kept_with_tool_parameters_status_result_and_duration() -> None:
    task = after(
        start_step("find", "search", {"title": "Dune"}, agent="a", now=101.0), finish_step("find", [1], now=103.5)
    )

    step = task.steps["find"]
    assert (step.tool, step.parameters, step.agent) == ("search", {"title": "Dune"}, "a")
    assert (step.status, step.result, step.duration, step.retries) == (StepStatus.DONE, [1], 2.5, 0)


def test_beginning_a_failed_step_again_is_a_retry_and_forgets_the_error() -> None:
    task = after(
        start_step("pay", now=101.0), fail_step("pay", "declined", duration=0.25), start_step("pay", now=102.0)
    )

    step = task.steps["pay"]
    assert (step.status, step.retries, step.error, step.duration) == (StepStatus.RUNNING, 1, None, None)


def test_a_duration_that_was_measured_is_taken_and_a_clock_set_back_makes_none_negative() -> None:
    measured = after(start_step("a", now=101.0), finish_step("a", duration=0.5, now=200.0))
    set_back = after(start_step("a", now=101.0), finish_step("a", now=50.0))

    assert (measured.steps["a"].duration, set_back.steps["a"].duration) == (0.5, 0.0)


def test_the_current_step_is_the_one_that_runs_or_else_the_next() -> None:
    planned = after(plan_step("one"), plan_step("two"))
    running = after(plan_step("one"), start_step("two"))
    over = after(start_step("one"), finish_step("one"), plan_step("two"), skip_step("two"))

    assert [task.current() and task.current()[0] for task in (planned, running, over)] == ["one", "two", None]  # type: ignore[index]


def test_planning_a_step_that_has_begun_changes_nothing() -> None:
    task = after(start_step("one", now=101.0), plan_step("one", "other"))

    assert task.steps["one"].status is StepStatus.RUNNING


def test_the_oldest_ended_steps_are_dropped_and_counted() -> None:
    ended = [
        change for number in range(MOST_STEPS + 5) for change in (start_step(str(number)), finish_step(str(number)))
    ]

    task = after(start_step("still running"), *ended)

    assert (len(task.steps), task.dropped_steps) == (MOST_STEPS, 6)
    assert "still running" in task.steps


def test_long_and_odd_values_are_kept_short_and_plain() -> None:
    task = after(start_step("a", parameters={"x": object, "n": float("nan")}), finish_step("a", "x" * 5000))

    assert isinstance(task.steps["a"].parameters, str)
    assert len(task.steps["a"].result) == 1000


def test_a_task_says_that_it_is_transient_and_ends_with_the_next() -> None:
    state = begin_task("another", task_id="t2", now=1.0)(begin_task("order", task_id="t1", now=1.0)(SessionState()))

    assert state.task is not None
    assert (state.task.id, state.task.transient, state.to_plain()["task"]["transient"]) == ("t2", True, True)
    assert end_task()(state).task is None


def test_a_step_that_runs_for_longer_than_its_timeout_has_timed_out() -> None:
    running = start_step("find", "search", timeout=5, now=101.0)

    in_time, late = after(running, time_out_steps(106.0)), after(running, time_out_steps(106.5))

    assert in_time.steps["find"].status is StepStatus.RUNNING
    assert (late.steps["find"].status, late.steps["find"].duration) == (StepStatus.TIMED_OUT, 5.5)
    assert late.steps["find"].error == "search did not answer within 5 s"
    assert late.current() is None


def test_an_answer_that_comes_after_the_timeout_is_still_taken() -> None:
    task = after(
        start_step("find", timeout=5, now=101.0), time_out_steps(110.0), finish_step("find", "Dune", now=111.0)
    )

    assert (task.steps["find"].status, task.steps["find"].result) == (StepStatus.DONE, "Dune")


def test_a_step_of_a_call_has_the_name_of_the_tool_and_is_ended_by_the_id_of_the_call() -> None:
    calls = [start_call("tooluse_1", "search", {"title": "Dune"}), start_call("tooluse_2", "search")]

    task = after(
        *calls, end_call("tooluse_2", StepStatus.FAILED, error="no answer"), end_call("tooluse_1", StepStatus.DONE)
    )

    assert [(name, step.status.value, step.error) for name, step in task.steps.items()] == [
        ("search", "done", None),
        ("search 2", "failed", "no answer"),
    ]
    with pytest.raises(NotFoundError, match="no step for the call 'tooluse_3'"):
        after(*calls, end_call("tooluse_3", StepStatus.DONE))


@pytest.mark.parametrize(
    "change", [finish_step("never begun"), fail_step("never begun", "x"), skip_step("never begun")]
)
def test_a_step_that_never_began_cannot_end(change: Change) -> None:
    with pytest.raises(NotFoundError, match="has no step 'never begun'"):
        after(change)


def test_a_step_without_a_task_is_refused() -> None:
    with pytest.raises(NotFoundError, match="no task is under way"):
        start_step("one")(SessionState())
