"""`dpdb completion SHELL`: a script by which bash, zsh or fish completes commands, options and their choices.

Scripts are made from the command line's own parser, and only its words go into them: names of commands and options,
choices and help. Any other word is completed as a file.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dpdb.doors.cli.options import command
from dpdb.doors.cli.parser import Parser
from dpdb.doors.cli.streams import show


def add_completion(commands: Any) -> None:
    """Add `dpdb completion`."""
    text = "print a script by which a shell completes commands, options and their choices"
    example = "dpdb completion bash > ~/.local/share/bash-completion/completions/dpdb"
    parser = command(commands, "completion", run, text, example)
    parser.add_argument("shell", choices=["bash", "zsh", "fish"], help="the shell that will read the script")


def run(options: argparse.Namespace) -> None:
    """Print the script, made from the parser of all commands."""
    from dpdb.doors.cli.main import build_parser

    show(script(options.shell, build_parser()))


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

# `path` is the list of commands in zsh, and `words` what stands on the line. The file may lie in a folder of `fpath`,
# where it is the body of the function that completes, or be read by `source`.
_ZSH = """\
#compdef dpdb
_dpdb() {{
    local at=dpdb option=${{words[CURRENT-1]}} word
    local -a shown
    for word in "${{(@)words[2,CURRENT-1]}}"; do
        case "$at $word" in
{paths}
        esac
    done
    if [[ $PREFIX == --*=* ]]; then
        option=${{PREFIX%%=*}}
        compset -P '*='
    fi
    case "$at $option" in
{values}
    esac
    case $at in
{options}
    esac
    if [[ $PREFIX == -* ]]; then
        _describe -o option shown
        return
    fi
    shown=()
    case $at in
{words}
    esac
    if (( $#shown )); then _describe word shown; else _files; fi
}}
if [[ $funcstack[1] == _dpdb ]]; then _dpdb "$@"; else compdef _dpdb dpdb; fi"""

_FISH = """\
function __dpdb_at
    set -l at dpdb
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
            case {paths}
                set at "$at $word"
        end
    end
    test "$at" = "$argv"
end"""


def script(shell: str, parser: Parser) -> str:
    """Return the script of a shell for the parser of all commands."""
    if shell == "fish":
        return "\n".join(_fish(parser))
    return _bash(parser) if shell == "bash" else _zsh(parser)


def _commands(parser: Parser, path: tuple[str, ...] = ("dpdb",)) -> Iterator[tuple[tuple[str, ...], Parser]]:
    """Give every parser with the words that lead to it; that of the whole command line comes first."""
    yield path, parser
    for name, found in parser.below.items():
        yield from _commands(found, (*path, name))


def _options(parser: Parser) -> dict[str, argparse.Action]:
    return {name: action for name, action in parser.options.items() if action.help != argparse.SUPPRESS}


def _choices(action: argparse.Action) -> list[str]:
    return [] if action.choices is None or isinstance(action.choices, dict) else [str(one) for one in action.choices]


def _plain(parser: Parser) -> list[str]:
    """Return the choices of positional arguments, such as SHELL of `dpdb completion`."""
    return [word for action in parser._actions if not action.option_strings for word in _choices(action)]


def _paths(parser: Parser, variable: str) -> Iterator[str]:
    """Give the cases by which a script follows the words of a command into a variable."""
    for path, found in _commands(parser):
        for name in found.below:
            there = shlex.quote(" ".join([*path, name]))
            yield f"            {there}) {variable}={there} ;;"


def _values(parser: Parser, reply: Callable[[argparse.Action], str]) -> Iterator[str]:
    """Give the cases that complete the value of an option."""
    for path, found in _commands(parser):
        for name, action in _options(found).items():
            if action.nargs != 0:
                yield f"        {shlex.quote(' '.join([*path, name]))}) {reply(action)}; return ;;"


def _bash(parser: Parser) -> str:
    def words(known: Iterable[str]) -> str:
        return f'COMPREPLY=($(compgen -W {shlex.quote(" ".join(known))} -- "$word"))'

    values = _values(parser, lambda action: words(_choices(action)) if action.choices else _FILES)
    shown = (
        f"        {shlex.quote(' '.join(path))}) {words([*found.below, *_plain(found), *_options(found)])} ;;"
        for path, found in _commands(parser)
    )
    lists = {"paths": _paths(parser, "path"), "values": values, "words": shown}
    return _BASH.format(files=_FILES, **{name: "\n".join(lines) for name, lines in lists.items()})


def _zsh(parser: Parser) -> str:
    options, words = [], []
    for path, found in _commands(parser):
        here = shlex.quote(" ".join(path))
        described = [_described(name, action.help) for name, action in _options(found).items()]
        options.append(f"        {here}) shown=({' '.join(described)}) ;;")
        described = [_described(name, text) for name, text in _described_commands(found)]
        described += [_described(word, None) for word in _plain(found)]
        words.append(f"        {here}) shown=({' '.join(described)}) ;;")
    values = _values(
        parser, lambda action: f"compadd -- {shlex.join(_choices(action))}" if action.choices else "_files"
    )
    lists = {"paths": _paths(parser, "at"), "values": values, "options": options, "words": words}
    return _ZSH.format(**{name: "\n".join(lines) for name, lines in lists.items()})


def _described(word: str, text: str | None) -> str:
    """Return a word with its help, as zsh's `_describe` takes them."""
    return shlex.quote(word.replace(":", "\\:") + (f":{_one_text(text)}" if _one_text(text) else ""))


def _one_text(text: str | None) -> str:
    return "" if not text or text == argparse.SUPPRESS else text.replace("%%", "%")


def _described_commands(parser: Parser) -> Iterator[tuple[str, str | None]]:
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for choice in action._get_subactions():  # type: ignore[attr-defined]  # argparse's own list of commands
                yield choice.dest, choice.help


def _fish(parser: Parser) -> Iterator[str]:
    paths = [f"{' '.join(path)} {name}" for path, found in _commands(parser) for name in found.below]
    yield _FISH.format(paths=" ".join(map(_in_quotes, paths)))
    for path, found in _commands(parser):
        here = " ".join(path)
        for name, text in _described_commands(found):
            yield _fish_line(here, f"-f -a {name}", text)
        for action in found._actions:
            if action.option_strings and action.help != argparse.SUPPRESS:
                yield _fish_line(here, _fish_option(action), action.help)
            elif not action.option_strings and (words := _choices(action)):
                yield _fish_line(here, f"-f -a {shlex.quote(' '.join(words))}", action.help)


def _fish_option(action: argparse.Action) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in action.option_strings)
    choices = _choices(action)
    return names + (f" -x -a {shlex.quote(' '.join(choices))}" if choices else "" if action.nargs == 0 else " -r")


def _fish_line(here: str, what: str, text: str | None) -> str:
    described = f" -d {_in_quotes(_one_text(text))}" if _one_text(text) else ""
    return f"complete -c dpdb -n {_in_quotes(f'__dpdb_at {here}')} {what}{described}"


def _in_quotes(text: str) -> str:
    """Return a text in fish's single quotes, where a backslash escapes itself and the quote."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
