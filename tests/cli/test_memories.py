"""Commands that look at and change single memories."""

import pytest

from tests.cli.commands import LISBON, PORTO, Run

GUESS = ("remember", "Ana lives in Rome.", "--topic", "personal/location/city", "--source", "inferred")


@pytest.mark.usefixtures("empty_table")
def test_an_empty_memory_says_so_in_words(run: Run) -> None:
    assert run("facts").out == "Nothing is known yet.\n"
    assert run("facts", "work/").out == "Nothing is known below 'work/' yet.\n"
    assert run("preferences").out == "No preferences yet.\n"
    assert run("recall", "Lisbon").out == "Nothing that is known answers this.\n"


def test_remember_tells_what_became_of_the_fact(run: Run) -> None:
    assert run(*LISBON).out.startswith("learned: Ana lives in Lisbon. (id ")
    assert run(*LISBON).out.startswith("supported: Ana lives in Lisbon. (id ")
    assert run(*PORTO).out.endswith("\n  before: Ana lives in Lisbon.\n")
    assert run(*GUESS).out.endswith("\n  kept beside what was said: Ana lives in Porto.\n")


def test_facts_are_a_table_with_headings(run: Run) -> None:
    run(*LISBON)
    run("remember", "Ana has a cat.", "--confidence", "0.7", "--permanence", "permanent")

    listed = run("facts")

    headings, line, *_ = listed.out.splitlines()
    assert headings.split() == ["id", "topic", "since", "until", "learned", "sure", "source", "fact"]
    assert set(line) == {"-", " "}
    city, cat = listed.rows
    assert (city[1], city[3:]) == ("personal/location/city", ["0.90", "user_stated", "Ana lives in Lisbon."])
    assert cat[2:] == ["0.70", "user_stated", "Ana has a cat."]


def test_a_topic_limits_the_facts_to_those_below_it(run: Run) -> None:
    run(*LISBON)
    run("remember", "Ana works at Trams.", "--topic", "work/employer")

    assert [row[-1] for row in run("facts", "work/").rows] == ["Ana works at Trams."]
    assert [row[-1] for row in run("facts", "personal").rows] == ["Ana lives in Lisbon."]


def test_history_shows_what_was_true_before(run: Run) -> None:
    run(*LISBON)
    run(*PORTO)

    assert [row[-1] for row in run("facts").rows] == ["Ana lives in Porto."]
    past, current = run("facts", "Personal/Location/city", "--history").rows
    assert (past[-3:], current[-1]) == (["past", "user_stated", "Ana lives in Lisbon."], "Ana lives in Porto.")
    assert len(past) == len(current) + 1  # the day until which it was true


def test_history_is_also_that_of_a_fact_by_its_id_and_of_everything(run: Run) -> None:
    wrong = run("remember", "Ana's dog is called Rex.", "--json").json
    right = run("remember", "Ana's dog is called Max.", "--replaces", wrong["id"], "--json").json
    run("remember", "Ana has a cat.")

    texts = ["Ana's dog is called Rex.", "Ana's dog is called Max."]
    assert [row[-1] for row in run("facts", wrong["id"], "--history").rows] == texts
    assert [row[-1] for row in run("facts", right["id"], "--history").rows] == texts
    assert len(run("facts", "--history").rows) == 3


def test_a_fact_is_saved_with_its_times(run: Run) -> None:
    times = ("--since", "2015", "--until", "2019-06", "--remind-on", "2019-06-01")
    fact = run("remember", "Ana worked at Acme.", *times, "--json").json

    assert (fact["since"], fact["until"], fact["remind_on"]) == ("2015", "2019-06", "2019-06-01")
    assert fact["past"]
    assert run("facts").rows == []
    (row,) = run("facts", "--history").rows
    assert row[1:3] == ["2015", "2019-06"]


def test_a_date_that_is_none_is_refused_with_its_name(run: Run) -> None:
    refused = run("remember", "Ana worked at Acme.", "--until", "soon")

    assert (refused.code, refused.out) == (2, "")
    assert "--until must be a date like 2026-03-02, 2026-03 or 2026, got 'soon'" in refused.err


def test_a_fact_is_ended_and_stays_as_history(run: Run) -> None:
    fact = run(*LISBON, "--json").json

    ended = run("end", fact["id"], "--until", "2020-05")

    assert ended.out == "past: Ana lives in Lisbon. (until 2020-05)\n"
    assert run("facts").rows == []
    assert [row[-1] for row in run("facts", fact["id"], "--history").rows] == ["Ana lives in Lisbon."]
    assert run("end", "nobody").code == 1


def test_several_facts_are_replaced_at_once(run: Run) -> None:
    ids = [run("remember", f"Ana has a {pet}.", "--json").json["id"] for pet in ("cat", "dog")]

    told = run("remember", "Ana has no pets.", "--replaces", ids[0], "--replaces", ids[1])

    assert told.out.endswith("\n  before: Ana has a cat.\n  before: Ana has a dog.\n")


def test_facts_as_json_have_everything_a_program_needs(run: Run) -> None:
    learned = run(*LISBON, "--json").json

    (fact,) = run("facts", "--json").json

    assert (learned.pop("outcome"), learned.pop("superseded")) == ("learned", [])
    assert fact["id"] == learned["id"]
    assert (fact["text"], fact["standing"], fact["support"]) == ("Ana lives in Lisbon.", "current", 1)
    assert (fact["valid_to"], fact["expires_at"]) == (None, None)


def test_preferences_are_set_listed_and_replaced(run: Run) -> None:
    first = run("preferences", "tone", "brief")
    second = run("preferences", "tone", "formal")

    assert (first.err, second.err) == ("saved\n", "saved (before: brief)\n")
    (row,) = run("preferences").rows
    assert (row[0], row[1], row[3]) == ("tone", "user", "formal")
    assert run("preferences", "--json").json == [{"key": "tone", "value": "formal", "set_by": "user"}]


def test_recall_finds_and_tells_what_did_not_fit(run: Run) -> None:
    for number in range(9):
        run("remember", f"Ana met {number} friends in Lisbon.")

    found = run("recall", "friends in Lisbon", "--max-tokens", "100")

    assert 1 <= len(found.rows) < 9
    told = f"{9 - len(found.rows)} more did not fit into 100 tokens; --max-tokens shows more"
    assert found.err.startswith(told)
    cursor = found.err.split()[-3]
    onwards = run("recall", "friends in Lisbon", "--cursor", cursor)
    assert len({row[0] for row in [*found.rows, *onwards.rows]}) == 9


def test_recall_explains_its_scores(run: Run) -> None:
    run(*LISBON)

    (row,) = run("recall", "Where does Ana live?", "--explain").rows

    assert row[4].startswith("probability ")
    assert "meaning" in row[4]


def test_recall_takes_a_topic_and_a_date(run: Run) -> None:
    run(*LISBON)
    run("remember", "Ana works in Lisbon.", "--topic", "work/place")

    assert [row[-1] for row in run("recall", "Lisbon", "--topic", "work").rows] == ["Ana works in Lisbon."]
    before = run("recall", "Lisbon", "--as-of", "2001-01-01", "--json").json["memories"]
    assert all(memory["learned_later"] for memory in before)
    assert run("recall", "Lisbon", "--json").json["status"] == "complete"


def test_forget_takes_the_memory_away_for_good(run: Run) -> None:
    fact = run(*LISBON, "--json").json

    forgotten = run("forget", fact["id"])
    again = run(*LISBON)

    assert (forgotten.code, forgotten.out) == (0, "forgotten: Ana lives in Lisbon.\n  1 stored item removed\n")
    assert run("facts").out == "Nothing is known yet.\n"
    assert (again.code, "--source confirmed" in again.err) == (1, True)


def test_a_dry_run_shows_what_would_be_forgotten(run: Run) -> None:
    fact = run("remember", "Ana lives in Bern.", "--json").json

    shown = run("forget", fact["id"], "--dry-run")

    assert shown.out.splitlines() == ["would be forgotten: Ana lives in Bern.", "  1 stored item would be removed"]
    assert run("facts").out.count("Bern") == 1


def test_forget_as_json_counts_what_went(run: Run) -> None:
    run(*LISBON)
    fact = run(*PORTO, "--json").json

    told = run("forget", fact["id"], "--json").json
    counted = {name: told[name] for name in ("status", "id", "text", "removed", "earlier_versions", "places")}
    values = {"text": "Ana lives in Porto.", "removed": 2, "earlier_versions": 1}
    assert counted == {"status": "complete", "id": fact["id"], **values, "places": []}


def test_a_correction_replaces_the_memory_it_names(run: Run) -> None:
    wrong = run("remember", "Ana's dog is called Rex.", "--json").json

    run("remember", "Ana's dog is called Max.", "--replaces", wrong["id"])

    assert [row[-1] for row in run("facts").rows] == ["Ana's dog is called Max."]


@pytest.mark.usefixtures("empty_table")
def test_an_id_that_is_not_there_is_told_in_one_line(run: Run) -> None:
    missing = run("forget", "nobody")

    assert (missing.code, missing.out) == (1, "")
    assert missing.err == "mcp-memory-server: no memory has the id 'nobody'; `recall` shows the ids of what is known\n"


def test_another_user_has_another_memory(run: Run) -> None:
    run(*LISBON)

    assert run("facts", "--user", "bo").out == "Nothing is known yet.\n"


@pytest.mark.parametrize("hostile", ["a\nb", "a\x1b[2Jb", "a\x9bb", "a\u2028b"])
def test_a_hostile_name_stays_on_its_line_and_commands_no_terminal(run: Run, hostile: str) -> None:
    run("remember", "Ana likes odd names.", "--topic", hostile)

    listed = run("facts").out

    assert len(listed.splitlines()) == 3
    assert listed.replace("\n", "").isprintable()
