"""Format 4 of a ledger file, frozen: every table, and what its columns are for, also where nothing fills them yet.

Four rules make room without holes:

- **Everything is sealed.** A line that must never vanish belongs to a chain (`CHAINS`): its seal covers the seal before
  it, and the head beside the ledger (`dpdb.ledger.store.head`) counts the chain. Lines of chains never change: a newer
  line lowers a charge, ends an allowance, takes back an analyst's rights. `place` counts the lines of all chains
  together, so they have one order and each a public hash (`dpdb.ledger.log`).
- **An answer is not a column of its entry.** It has a line, a number and a seal of its own, so an answer that was
  blanked or removed is damage and never "not answered yet": the same run must not draw twice for one debit.
- **Secrets can be forgotten.** `suite_secret` (the hidden threshold of a suite; known, every quiet day costs its whole
  epsilon) is in no chain: its suite has a salted commitment to it, and salt and secret are overwritten together when
  the suite closes. Every connection sets `secure_delete`; whoever overwrites also truncates the write-ahead log.
- **What is not understood is not ignored.** A ledger with a line of a kind that this version does not know, several
  tables or an option is refused in words: going on without it could spend what an owner has forbidden.

`terms` (one line): what the owner fixed. `table_mark` binds the ledger to one table; `tables` binds it to a named set:
a JSON object from their names to their marks. `options` is a JSON object, sealed like the rest, of what has no column.

`epoch`: one state of the rows, of all tables; `closed_overlap` is what it cost when it was closed.

`entry` (chain): one debit. `analyst` asked for it (a quota adds up his lines), `label` is the owner's word for it,
`rule_set` the digest or name of the constraints. `entry_table` (chain): in a ledger of several tables, the rows of each
that it is charged for, proven to stay below `upper`; its entry then has the rows and the charge of the unit.

`answer` (chain): what was released for an entry, once, in the order of recording.

`settlement` (chain): what an answered debit really costs, once, never more than was debited; every sum is of settled
charges. `closed_overlap` is what its epoch comes to with it, if that was closed before; `"table"` names a line of
`entry_table`, NULL the entry.

`act` (chain): what the owner did to the ledger: allowances, retirement, a raised budget. `kind` names the act, `detail`
is a JSON object: `after` which debit, `who` and `label` where they were given, and what the act fixes
(`dpdb.ledger.store.rows`). `terms` keeps the budget that the ledger was made with.

`analyst` (chain): from this line on `name` has these rights: a role, a `quota` and a `most_per_statement` in units of
the ledger's notion, until `expires`; `credentials` is a JSON object (digest of a token, keys made from it), NULL when
they are withdrawn, and no part of the public hash. The newest line of a name holds.

`suite` (chain): a suite of checks with its debit; one that is kept has a `name`. `spec` is public: rules, limits,
levels, shares; `commitment` is SHA-256 of salt and secret. `suite_act` (chain): what the owner did to it, by `kind`
(re-armed a check, paid by `entry` or by the suite; closed it). `suite_answer` (chain): verdicts of
one level of one run, recorded before anything of them leaves the process.
"""

from __future__ import annotations

TABLES = """
CREATE TABLE terms (
    id INTEGER PRIMARY KEY CHECK (id = 1), notion TEXT NOT NULL, budget INTEGER NOT NULL, delta REAL NOT NULL,
    append_only INTEGER NOT NULL, created TEXT NOT NULL, key BLOB NOT NULL, table_mark BLOB, rows_per_person INTEGER,
    unit TEXT, tables TEXT, options TEXT, seal BLOB NOT NULL
) STRICT;
CREATE TABLE epoch (
    number INTEGER PRIMARY KEY, opened TEXT NOT NULL, source_mark BLOB, closed_overlap INTEGER, seal BLOB NOT NULL
) STRICT;
CREATE TABLE entry (
    number INTEGER PRIMARY KEY, epoch INTEGER NOT NULL REFERENCES epoch, run_id TEXT UNIQUE, request TEXT NOT NULL,
    predicate TEXT NOT NULL, charge INTEGER NOT NULL CHECK (charge >= 0), upper INTEGER NOT NULL,
    source_mark BLOB NOT NULL, reserved TEXT NOT NULL, analyst TEXT, label TEXT, rule_set TEXT,
    place INTEGER NOT NULL, seal BLOB NOT NULL
) STRICT;
CREATE TABLE entry_table (
    number INTEGER PRIMARY KEY, entry INTEGER NOT NULL REFERENCES entry, "table" TEXT NOT NULL, predicate TEXT NOT NULL,
    charge INTEGER NOT NULL CHECK (charge >= 0), upper INTEGER NOT NULL, place INTEGER NOT NULL, seal BLOB NOT NULL,
    UNIQUE (entry, "table")
) STRICT;
CREATE TABLE answer (
    number INTEGER PRIMARY KEY, entry INTEGER NOT NULL UNIQUE REFERENCES entry, answered TEXT NOT NULL,
    answer TEXT NOT NULL, place INTEGER NOT NULL, seal BLOB NOT NULL
) STRICT;
CREATE TABLE settlement (
    number INTEGER PRIMARY KEY, entry INTEGER NOT NULL REFERENCES entry, charge INTEGER NOT NULL CHECK (charge >= 0),
    at TEXT NOT NULL, closed_overlap INTEGER, "table" TEXT, place INTEGER NOT NULL, seal BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX settled_once ON settlement (entry, coalesce("table", ''));
CREATE TABLE act (
    number INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, detail TEXT NOT NULL, place INTEGER NOT NULL,
    seal BLOB NOT NULL
) STRICT;
CREATE TABLE analyst (
    number INTEGER PRIMARY KEY, at TEXT NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL, quota INTEGER,
    most_per_statement INTEGER, expires TEXT, approved_by TEXT, credentials TEXT, options TEXT, place INTEGER NOT NULL,
    seal BLOB NOT NULL
) STRICT;
CREATE TABLE suite (
    number INTEGER PRIMARY KEY, entry INTEGER NOT NULL UNIQUE REFERENCES entry, at TEXT NOT NULL, name TEXT,
    spec TEXT NOT NULL, commitment BLOB NOT NULL, place INTEGER NOT NULL, seal BLOB NOT NULL
) STRICT;
CREATE TABLE suite_secret (suite INTEGER PRIMARY KEY REFERENCES suite, salt BLOB, secret TEXT) STRICT;
CREATE TABLE suite_act (
    number INTEGER PRIMARY KEY, suite INTEGER NOT NULL REFERENCES suite, at TEXT NOT NULL, kind TEXT NOT NULL,
    detail TEXT NOT NULL, entry INTEGER REFERENCES entry, place INTEGER NOT NULL, seal BLOB NOT NULL
) STRICT;
CREATE TABLE suite_answer (
    number INTEGER PRIMARY KEY, suite INTEGER NOT NULL REFERENCES suite, run_id TEXT NOT NULL, level INTEGER NOT NULL,
    answered TEXT NOT NULL, answer TEXT NOT NULL, place INTEGER NOT NULL, seal BLOB NOT NULL,
    UNIQUE (suite, run_id, level)
) STRICT;
"""

CHAINS = ("entry", "answer", "settlement", "act", "suite", "suite_act", "suite_answer", "analyst")
"""The chains that this version writes."""

NOT_UNDERSTOOD = """
SELECT EXISTS (SELECT 1 FROM entry_table)
    OR EXISTS (SELECT 1 FROM settlement WHERE "table" IS NOT NULL)
"""
"""The query whether a ledger holds what this version of dpdb does not know yet."""
