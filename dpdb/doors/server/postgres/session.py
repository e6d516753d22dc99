"""`Settings`: what clients ask of their session (SET, SHOW, BEGIN, ...): answered here, harmlessly, at no cost.

A transaction is a word only: every statement stands alone, and what was released stays released and paid for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import pyarrow as pa

from dpdb.doors.server.postgres.wire import WireError

_COMMENT = re.compile(r"(?:\s+|--[^\n]*|/\*.*?\*/)+", re.DOTALL)
_VERB = re.compile(r"[A-Za-z]+")
_VALUE = r"(?P<value>'(?:[^']|'')*'|[^\s',;]+(?:\s*,\s*[^\s',;]+)*)"  # one way to match each text
_SET = re.compile(rf'SET\s+(?:SESSION\s+|LOCAL\s+)?"?(?P<name>[\w.]+)"?(?:\s*=|\s+TO\s)\s*{_VALUE}', re.IGNORECASE)
_SET_WORDS = re.compile(
    rf"SET\s+(?:SESSION\s+|LOCAL\s+)?(?P<name>NAMES|TIME\s+ZONE|(?:SESSION\s+CHARACTERISTICS\s+AS\s+)?TRANSACTION)\s+{_VALUE}.*",
    re.IGNORECASE | re.DOTALL,
)
_ONE = re.compile(r'(?:SHOW|RESET)\s+"?(?P<name>[\w.]+|TRANSACTION\s+ISOLATION\s+LEVEL|TIME\s+ZONE)"?', re.IGNORECASE)
_BACK_TO = re.compile(r"ROLLBACK\s+(?:WORK\s+|TRANSACTION\s+)?TO\b", re.IGNORECASE)
_DEALLOCATE = re.compile(
    r'DEALLOCATE\s+(?:PREPARE\s+)?(?:(?P<all>ALL)|"(?P<quoted>(?:[^"]|"")+)"|(?P<plain>[^\W\d][\w$]*))', re.IGNORECASE
)

_TAGS = {
    "BEGIN": "BEGIN", "START": "START TRANSACTION", "COMMIT": "COMMIT", "END": "COMMIT", "ROLLBACK": "ROLLBACK",
    "ABORT": "ROLLBACK", "SAVEPOINT": "SAVEPOINT", "RELEASE": "RELEASE", "SET": "SET", "RESET": "RESET", "SHOW": "SHOW",
    "DISCARD": "DISCARD ALL", "DEALLOCATE": "DEALLOCATE", "UNLISTEN": "UNLISTEN",
}  # fmt: skip
_REFUSED = {
    "COPY": "COPY is refused: rows neither come nor go; write SELECT ... (ADBC: adbc.postgresql.use_copy = false)",
    **dict.fromkeys(("PREPARE", "EXECUTE"), "statements are prepared by the protocol, as drivers do"),
    **dict.fromkeys(("LISTEN", "NOTIFY", "LOCK", "VACUUM", "DO"), "this server answers queries alone"),
}  # fmt: skip
FIXED: Mapping[str, str] = {
    "server_version": "15.0", "server_encoding": "UTF8", "client_encoding": "UTF8", "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres", "TimeZone": "UTC", "integer_datetimes": "on", "standard_conforming_strings": "on",
    "in_hot_standby": "off", "default_transaction_read_only": "off", "is_superuser": "off",
}  # fmt: skip
"""What clients are told when they connect, and what stays so."""
_KNOWN: Mapping[str, str] = {
    "transaction_isolation": "read committed", "default_transaction_isolation": "read committed",
    "transaction_read_only": "off", "search_path": "public", "server_version_num": "150000", "statement_timeout": "0",
    "lock_timeout": "0", "idle_in_transaction_session_timeout": "0", "extra_float_digits": "1", "bytea_output": "hex",
    "client_min_messages": "notice", "application_name": "", "max_identifier_length": "63", "row_security": "on",
    "lc_collate": "C", "lc_ctype": "C", "lc_messages": "C", "lc_monetary": "C", "lc_numeric": "C", "lc_time": "C",
    "synchronous_commit": "on", "jit": "off", "work_mem": "4MB", "max_connections": "100", "ssl": "on",
    "xmloption": "content", "session_authorization": "", "role": "none", "default_text_search_config": "simple",
    "geqo": "on", "enable_seqscan": "on", "quote_all_identifiers": "off", "idle_session_timeout": "0",
    "synchronize_seqscans": "on", "default_table_access_method": "heap", "max_index_keys": "32",
    "default_tablespace": "", "plan_cache_mode": "auto", "wal_level": "minimal", "backslash_quote": "safe_encoding",
    "escape_string_warning": "on", "dpdb.run_id": "",
}  # fmt: skip
SETTINGS: Mapping[str, str] = {
    **FIXED, **_KNOWN, "block_size": "8192", "array_nulls": "on", "max_function_args": "100",
}  # fmt: skip
"""All settings as they are to begin with, for the catalog, too."""
_INTERNAL = (
    "server_version", "server_version_num", "server_encoding", "integer_datetimes", "in_hot_standby", "is_superuser",
    "max_identifier_length", "max_function_args", "max_index_keys", "block_size", "lc_collate", "lc_ctype",
)  # fmt: skip
_OF_SERVER = ("max_connections", "wal_level", "ssl")
_WORDS = {
    "names": "client_encoding", "time zone": "TimeZone", "timezone": "TimeZone", "datestyle": "DateStyle",
    "intervalstyle": "IntervalStyle", "transaction isolation level": "transaction_isolation",
}  # fmt: skip
_MOST_VALUE = 1_000
_IGNORED = ("TimeZone",)  # times that have a zone are sent with it


def context_of(setting: str) -> str:
    """Return who may set a setting, as PostgreSQL tells it: `user` for all that SET takes there."""
    return "internal" if setting in _INTERNAL else "postmaster" if setting in _OF_SERVER else "user"


def bare(text: str) -> str:
    """Return a statement with blanks instead of comments before it, so that its words keep their places; or nothing."""
    found = _COMMENT.match(text)
    before = re.sub(r"\S", " ", found[0]) if found else ""
    rest = text[len(before) :].rstrip("; \t\r\n\f")
    return before + rest if rest else ""


def verb_of(text: str) -> str:
    """Return the first word of a bare statement, in capitals."""
    found = _VERB.match(text.lstrip())
    return found[0].upper() if found else ""


def deallocated(text: str) -> str | None:
    """Return the name of the statement that a bare DEALLOCATE drops; None of all. `WireError` of any other text."""
    found = _DEALLOCATE.fullmatch(text.strip()) if len(text) <= _MOST_VALUE else None
    if found is None:
        raise WireError("42601", "write DEALLOCATE name")
    if found["all"]:
        return None
    return found["quoted"].replace('""', '"') if found["quoted"] is not None else found["plain"].lower()


class Settings:
    """The settings of one connection, and its state between BEGIN and COMMIT.

    Attributes
    ----------
    state : bytes
        `I` outside of a transaction, `T` inside, `E` inside after an error.
    """

    def __init__(self, analyst: str, given: Mapping[str, str]) -> None:
        self.state = b"I"
        self._values = {**_KNOWN, **FIXED, "session_authorization": analyst}
        self._reset = dict(self._values)
        for name, value in given.items():
            known = self._name(name)
            if known is not None and known not in FIXED:
                self._reset[known] = self._values[known] = value[:_MOST_VALUE]

    @property
    def run_id(self) -> str | None:
        """The run that the client has named for its statements."""
        return self._values["dpdb.run_id"] or None

    @property
    def wants_notices(self) -> bool:
        """Whether the client hears what statements cost."""
        return self._values["client_min_messages"].lower() not in ("warning", "error")

    def reported(self) -> dict[str, str]:
        """Return what a client is told on connecting."""
        named = ("application_name", "session_authorization")
        return {**FIXED, **{name: self._values[name] for name in named}}

    def answer(self, text: str) -> tuple[str, pa.Table | None] | None:
        """Answer a bare statement about the session: its tag, and rows; None of any other statement."""
        verb = verb_of(text)
        if verb in _REFUSED:
            raise WireError("0A000", _REFUSED[verb])
        if verb not in _TAGS:
            return None
        text, table = text.lstrip(), None
        if verb == "SET":
            self._set(text)
        elif verb in ("SHOW", "RESET"):
            table = self._of_one(verb, text)
        elif verb in ("DISCARD", "DEALLOCATE"):
            return self._dropped(verb, text), None
        else:
            return self._moved(verb, text), None
        return _TAGS[verb], table

    def _moved(self, verb: str, text: str) -> str:
        """Begin or end a transaction; what is already so stays so."""
        if verb in ("BEGIN", "START"):
            self.state = b"T" if self.state == b"I" else self.state
        elif verb == "ROLLBACK" and _BACK_TO.match(text):
            self.state = b"T" if self.state == b"E" else self.state
        elif verb in ("COMMIT", "END", "ROLLBACK", "ABORT"):
            failed, self.state = self.state == b"E", b"I"
            return "ROLLBACK" if failed else _TAGS[verb]
        return _TAGS[verb]

    def is_about(self, text: str) -> bool:
        """Return whether a bare statement is answered, or refused, here."""
        return verb_of(text) in _TAGS.keys() | _REFUSED.keys()

    def ends_failure(self, text: str) -> bool:
        """Return whether a bare statement may follow a failed one of the same transaction."""
        return verb_of(text) in ("COMMIT", "END", "ROLLBACK", "ABORT")

    def _dropped(self, verb: str, text: str) -> str:
        if verb == "DEALLOCATE":
            return f"{verb} ALL" if deallocated(text) is None else verb
        what = text.upper().split()[1:]
        if what not in (["ALL"], ["PLANS"], ["SEQUENCES"], ["TEMP"], ["TEMPORARY"]):
            raise WireError("42601", "write DISCARD ALL")
        if what == ["ALL"]:
            self._values = dict(self._reset)
        return f"DISCARD {what[0].removesuffix('ORARY')}"

    def _name(self, text: str) -> str | None:
        plain = re.sub(r"\s+", " ", text.lower())
        plain = _WORDS.get(plain, plain)
        return plain if plain in self._values else None

    def _set(self, text: str) -> None:
        found = _SET.fullmatch(text) or _SET_WORDS.fullmatch(text)
        if found is None:
            raise WireError("42601", "write SET name = 'value'")
        if "transaction" in found["name"].lower().split():
            return
        value = found["value"]
        value = value[1:-1].replace("''", "'") if value.startswith("'") else value
        self._keep(found["name"], None if value.upper() == "DEFAULT" else value)

    def _keep(self, given: str, value: str | None) -> None:
        name = self._name(given)
        if name is None:
            raise WireError("42704", f"there is no setting {given[:60]!r}")
        if name in _IGNORED:
            return
        if value is None:
            value = self._reset[name]
        if name in FIXED and _same(value) != _same(FIXED[name]) and _same(value) not in _same(FIXED[name]).split(","):
            raise WireError("22023", f"{name} is {FIXED[name]} here, and stays so")
        if name == "dpdb.run_id" and not (value.isprintable() and len(value) <= 100):
            raise WireError("22023", "a run id has 1 to 100 printable characters")
        if len(value) > _MOST_VALUE:
            raise WireError("22023", f"a setting has at most {_MOST_VALUE:,} characters")
        self._values[name] = FIXED.get(name, value)

    def _of_one(self, verb: str, text: str) -> pa.Table | None:
        found = _ONE.fullmatch(text)
        if found is None:
            raise WireError("42601", f"write {verb} name")
        if found["name"].upper() == "ALL":
            if verb == "RESET":
                self._values = dict(self._reset)
                return None
            names = sorted(self._values)
            return pa.table({"name": names, "setting": [self._values[name] for name in names]})
        if verb == "RESET":
            self._keep(found["name"], None)
            return None
        name = self._name(found["name"])
        if name is None:
            raise WireError("42704", f"there is no setting {found['name'][:60]!r}")
        return pa.table({name: [self._values[name]]})


def _same(value: str) -> str:
    """Return a value as it compares with another: UTF-8 is UTF8, and on is true."""
    plain = re.sub(r"[-_\s]", "", value.lower())
    return {"true": "on", "unicode": "utf8", "false": "off", "1": "on"}.get(plain, plain)
