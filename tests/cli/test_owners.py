"""Memories beside the user's own: named by settings and by --in, found by the folder, never by a model."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.cli.parser import build_parser, settings_from
from mcp_memory_server.domain.kernel.scope import Owner, Scope
from mcp_memory_server.errors import ConfigurationError
from mcp_memory_server.repositories import repository_name
from mcp_memory_server.settings import Settings
from tests.cli.commands import Run

RULE = "The shop is deployed with Helm."


def repository(folder: Path, url: str = "git@github.com:acme/web.git") -> Path:
    (folder / ".git").mkdir(parents=True)
    remote = f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {url}\n' if url else "[core]\n"
    (folder / ".git" / "config").write_text(remote, encoding="utf-8")
    (folder / "src" / "deep").mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:acme/web.git",
        "https://github.com/acme/web",
        "https://ana:ghp_secret@GitHub.com/acme/web.git",
        "ssh://git@github.com:22/acme/web.git",
    ],
)
def test_all_copies_of_a_repository_have_one_name_without_credentials(tmp_path: Path, url: str) -> None:
    folder = repository(tmp_path / "web", url)

    assert repository_name(folder / "src" / "deep") == repository_name(folder) == "github.com/acme/web"


def test_a_repository_without_a_remote_is_named_after_its_folder(tmp_path: Path) -> None:
    one, other = (repository(tmp_path / place / "web", "") for place in ("one", "other"))

    names = [repository_name(one), repository_name(other)]

    assert names[0] != names[1]
    assert all(name is not None and name.startswith("web ") for name in names)


def test_a_work_tree_has_the_name_of_its_repository(tmp_path: Path) -> None:
    main, tree = repository(tmp_path / "web"), tmp_path / "tree"
    own = main / ".git" / "worktrees" / "tree"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n", encoding="utf-8")
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {own}\n", encoding="utf-8")

    assert repository_name(tree) == "github.com/acme/web"


def test_a_folder_outside_of_repositories_is_no_project(tmp_path: Path) -> None:
    assert repository_name(tmp_path) is None
    assert Settings(user="ana", project="auto").scope_in(tmp_path) == Scope("ana", reads=())


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=300))
def test_whatever_a_remote_is_called_the_name_can_be_a_project(url: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        name = repository_name(repository(Path(folder) / "web", url))

    assert name is None or Owner.project("ana", name)


def test_the_settings_name_the_owners(tmp_path: Path) -> None:
    settings = Settings(user="ana", project="auto", team="acme", shared="handbook, wines")

    scope = settings.scope_in(repository(tmp_path / "web"))

    assert scope.owner == Owner.project("ana", "github.com/acme/web")
    assert scope.reads == (Owner.user("ana"), Owner.team("acme"), Owner.shared("handbook"), Owner.shared("wines"))
    assert settings.scope() == Scope("ana")


def test_new_facts_cannot_go_to_an_owner_that_is_not_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"MCP_MEMORY_.*NEW_FACTS: .*'team', which is not named"):
        Settings(user="ana", new_facts="team").scope_in(tmp_path)


def test_a_server_of_many_users_is_told_its_project_by_name() -> None:
    with pytest.raises(ConfigurationError, match="MCP_MEMORY_PROJECT=auto is for clients that start the server"):
        Settings(user="ana", project="auto").owners()


def test_what_is_remembered_in_a_repository_is_known_only_there(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_MEMORY_PROJECT", "auto")
    monkeypatch.chdir(repository(tmp_path / "web") / "src")
    run("remember", RULE)
    here = run("recall", "How is the shop deployed?").out
    monkeypatch.chdir(repository(tmp_path / "other", "https://github.com/acme/other"))
    elsewhere = run("recall", "How is the shop deployed?").out

    assert RULE in here
    assert RULE not in elsewhere
    assert RULE in run("facts", "--in", "project:github.com/acme/web").out


def test_shared_knowledge_is_filled_from_the_command_line_and_only_read_by_others(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("remember", "--in", "shared:handbook", "Travel is booked through the travel desk.")
    monkeypatch.setenv("MCP_MEMORY_SHARED", "handbook")

    assert "travel desk" in run("recall", "How is travel booked?").out
    assert run("facts", "--in", "user").out == "Nothing is known yet.\n"


def test_a_wrong_owner_is_refused_with_the_right_forms(run: Run) -> None:
    refused = run("remember", "--in", "planet:mars", RULE)

    assert refused.code != 0
    assert "--in must be user, agent:NAME, project:NAME, team:NAME or shared:NAME, got 'planet:mars'" in refused.err


@pytest.mark.parametrize("arguments", [["serve", "--hooks"], ["hook", "prompt"]], ids=" ".join)
def test_the_plugin_of_a_coding_agent_uses_the_memory_of_the_repository_unless_a_setting_says_otherwise(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = build_parser().parse_args(arguments)
    monkeypatch.delenv("MCP_MEMORY_PROJECT", raising=False)
    by_itself = settings_from(parsed).project
    monkeypatch.setenv("MCP_MEMORY_PROJECT", "none")

    assert (by_itself, settings_from(parsed).project) == ("auto", "none")
    assert settings_from(build_parser().parse_args(["serve", "--http", "--hooks"])).project == "none"
