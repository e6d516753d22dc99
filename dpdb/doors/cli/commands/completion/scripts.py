"""Scripts of completion for bash, zsh and fish, made from the command line's own parser.

Only words of the parser go into a script: names of commands and options, choices and help. What is no such word is
completed as a file.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence

from dpdb.doors.cli.intermixed import Parser

__all__ = ["script"]

_BASH = """\
_dpdb() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} path=dpdb option= i IFS=$' \t\n'
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$path ${{COMP_WORDS[i]}}" in
{paths}
        esac
    done
    # bash takes --option=value apart at the sign
    if [[ $word == = ]]; then word=; option=${{COMP_WORDS[COMP_CWORD-1]}}
    elif [[ ${{COMP_WORDS[COMP_CWORD-1]}} == = ]]; then option=${{COMP_WORDS[COMP_CWORD-2]}}
    else option=${{COMP_WORDS[COMP_CWORD-1]}}; fi
    case "$path $option" in
{values}
    esac
    case "$path" in
{words}
    esac
    [[ ${{#COMPREPLY[@]}} -gt 0 || $word == -* ]] || {files}
}}
complete -o filenames -F _dpdb dpdb"""

# Names of files may have blanks: only a line break ends one.
_FILES = """{ IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$word")); }"""

_ZSH = "#compdef dpdb\nautoload -Uz bashcompinit && bashcompinit\n"


def script(shell: str, parser: Parser) -> str:
    """Return the script of a shell for the parser of all commands."""
    if shell == "fish":
        return "\n".join(_fish(parser))
    bash = _bash(parser)
    return bash if shell == "bash" else _ZSH + bash


def _commands(parser: Parser, path: tuple[str, ...] = ("dpdb",)) -> Iterator[tuple[tuple[str, ...], Parser]]:
    """Every parser with the words that lead to it, the whole command line's first."""
    yield path, parser
    for name in _below(parser):
        found = parser.command(name)
        assert found is not None
        yield from _commands(found, (*path, name))


def _below(parser: Parser) -> list[str]:
    return [name for action in parser._actions if isinstance(action.choices, dict) for name in action.choices]


def _choices(action: argparse.Action) -> list[str]:
    return [] if action.choices is None or isinstance(action.choices, dict) else [str(one) for one in action.choices]


def _plain(parser: Parser) -> list[str]:
    """The choices of what is no option, as the SHELL of `dpdb completion`."""
    return [word for action in parser._actions if not action.option_strings for word in _choices(action)]


def _bash(parser: Parser) -> str:
    paths, values, shown = [], [], []
    for path, found in _commands(parser):
        here = " ".join(path)
        below, options = _below(found), found.options
        paths += [
            f"            {shlex.quote(f'{here} {name}')}) path={shlex.quote(f'{here} {name}')} ;;" for name in below
        ]
        for name, action in options.items():
            if action.nargs != 0:
                reply = f'COMPREPLY=($(compgen -W {shlex.quote(" ".join(_choices(action)))} -- "$word"))'
                if not action.choices:
                    reply = _FILES
                values.append(f"        {shlex.quote(f'{here} {name}')}) {reply}; return ;;")
        known = shlex.quote(" ".join([*below, *_plain(found), *options]))
        shown.append(f'        {shlex.quote(here)}) COMPREPLY=($(compgen -W {known} -- "$word")) ;;')
    return _BASH.format(paths="\n".join(paths), values="\n".join(values), words="\n".join(shown), files=_FILES)


def _fish(parser: Parser) -> Iterator[str]:
    for path, found in _commands(parser):
        seen = [f"__fish_seen_subcommand_from {name}" for name in path[1:]]
        for action in found._actions:
            if isinstance(action.choices, dict):
                unseen = f"not __fish_seen_subcommand_from {' '.join(action.choices)}"
                for choice in action._get_subactions():  # type: ignore[attr-defined]  # argparse's own list of commands
                    yield _fish_line([*seen, unseen], f"-f -a {choice.dest}", choice.help)
            elif action.option_strings:
                yield _fish_line(seen or ["__fish_use_subcommand"], _fish_option(action), action.help)
            elif action.choices:
                yield _fish_line(seen, f"-f -a {shlex.quote(' '.join(_choices(action)))}", action.help)


def _fish_option(action: argparse.Action) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in action.option_strings)
    choices = _choices(action)
    return names + (f" -x -a {shlex.quote(' '.join(choices))}" if choices else "" if action.nargs == 0 else " -r")


def _fish_line(conditions: Sequence[str], what: str, text: str | None) -> str:
    described = "" if not text or text == argparse.SUPPRESS else f" -d {_in_quotes(text.replace('%%', '%'))}"
    return f"complete -c dpdb -n {_in_quotes('; and '.join(conditions))} {what}{described}"


def _in_quotes(text: str) -> str:
    """A text in fish's single quotes, where a backslash escapes itself and the quote."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
