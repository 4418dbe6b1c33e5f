"""A shell completes commands, options and choices."""

import subprocess

import pytest

from tests.cli.commands import Run


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        (["mcp-memory-server", "rem"], {"remember"}),
        (["mcp-agent-memory", "forg"], {"forget", "forget-user"}),
        (["mcp-memory-server", "remember", "--top"], {"--topic"}),
        (["mcp-memory-server", "hook", "sess"], {"session-start", "session-end"}),
        (["mcp-memory-server", "tables", "cre"], {"create"}),
    ],
)
def test_bash_completes_what_was_typed(run: Run, typed: list[str], completed: set[str]) -> None:
    words = " ".join(f"'{word}'" for word in typed)
    script = f"{run('completion', 'bash').out}\nCOMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; _mcp_memory_server\n"

    done = subprocess.run(
        ["bash", "-c", f'{script}printf "%s\\n" "${{COMPREPLY[@]}}"'], capture_output=True, text=True, check=True
    )

    assert set(done.stdout.split()) == completed


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script_with_every_command(run: Run, shell: str) -> None:
    script = run("completion", shell).out

    assert all(command in script for command in ("remember", "verify-isolation", "attach", "--topic"))
