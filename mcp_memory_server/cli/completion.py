"""The command that prints a script with which a shell completes commands, options and choices."""

import argparse
from collections.abc import Iterator

from mcp_memory_server.cli.parser import build_parser
from mcp_memory_server.settings import Settings

PROGRAMS = ("mcp-memory-server", "mcp-agent-memory")

_BASH = """\
_mcp_memory_server() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" words
    case "${{COMP_WORDS[1]}}" in
{cases}
        *) words="{commands}" ;;
    esac
    [ "$COMP_CWORD" -eq 1 ] && words="{commands}"
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [ "${{#COMPREPLY[@]}}" -eq 0 ] && COMPREPLY=($(compgen -f -- "$current"))
}}
complete -F _mcp_memory_server {programs}
"""


async def completion(parsed: argparse.Namespace, _settings: Settings) -> int:
    """Print the script."""
    words = words_by_command(build_parser())
    print(_fish(words) if parsed.shell == "fish" else _bash(words, is_zsh=parsed.shell == "zsh"), end="")
    return 0


def words_by_command(parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    """Return for each command its options and choices."""
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))  # pyright: ignore[reportPrivateUsage]
    return {name: sorted(set(_words(command))) for name, command in commands.choices.items()}


def _words(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        yield from (option for option in action.option_strings if option.startswith("--"))
        yield from (str(choice) for choice in action.choices or ())


def _bash(words: dict[str, list[str]], *, is_zsh: bool) -> str:
    cases = "\n".join(f'        {name}) words="{" ".join(own)}" ;;' for name, own in words.items())
    script = _BASH.format(cases=cases, commands=" ".join(words), programs=" ".join(PROGRAMS))
    return f"autoload -U +X compinit bashcompinit && compinit && bashcompinit\n{script}" if is_zsh else script


def _fish(words: dict[str, list[str]]) -> str:
    lines: list[str] = []
    for program in PROGRAMS:
        lines.append(f"complete -c {program} -n __fish_use_subcommand -a '{' '.join(words)}'")
        for name, own in words.items():
            seen = f"'__fish_seen_subcommand_from {name}'"
            lines.append(f"complete -c {program} -n {seen} -a '{' '.join(own)}'")
    return "\n".join(lines) + "\n"
