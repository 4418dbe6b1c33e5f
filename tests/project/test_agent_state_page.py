"""The page about the shared state: each name beside the source's exists, each difference has a reason."""

import re
from pathlib import Path

import agent_plugins

PAGE = (Path(__file__).parents[2] / "docs" / "agent-state.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table that begins with this heading."""
    table = PAGE[PAGE.index(f"| {heading} |") :].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


COMPARED = [*rows("the source's StateCoordinator"), *rows("the source's tool tracker")]


def test_each_of_our_names_beside_those_of_the_source_exists() -> None:
    names = {name for _, ours, _ in COMPARED for name in re.findall(r"`([^`]+)`", ours)}

    for name in names:
        found = agent_plugins
        for part in name.split("."):
            assert hasattr(found, part) or part in getattr(found, "__dataclass_fields__", {}), name
            found = getattr(found, part, None)
    assert len(names) > 40


def test_each_row_says_what_is_different_or_that_nothing_is() -> None:
    assert [source for source, ours, difference in COMPARED if not (source and ours and difference)] == []
    assert len(COMPARED) > 30


def test_the_phases_are_all_listed_with_the_names_that_were_stored_first() -> None:
    table = {phase.strip("`"): re.findall(r"`([^`]+)`", names) for phase, _, names in rows("phase")}

    assert list(table) == [phase.value for phase in agent_plugins.Phase]
    for phase, names in table.items():
        assert {agent_plugins.Phase(name).value for name in names} <= {phase}
    assert sum(map(len, table.values())) == 8
