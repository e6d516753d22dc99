"""Format 3 of a ledger file: every table, and what its columns are for, also where nothing fills them yet.

One format for all that is planned, so that no ledger is upgraded twice. Four rules make room without holes:

- **Everything is sealed.** A line that must never vanish belongs to a chain: its seal covers the seal before it, and
  the head beside the ledger (`dpdb.ledger.store.head`) counts the chain. `entry`, `answer` and `act` are chains,
  `analyst` will be: an owner's act or an analyst's rights are never changed, a newer line about them is added.
- **An answer is not a column of its entry.** It has a line, a number and a seal of its own, so an answer that was
  blanked or removed is damage and never "not answered yet": the same run must not draw twice for one debit.
- **Secrets can be forgotten.** `standing.secret` (an alarm's hidden threshold; known, it costs its whole epsilon every
  day) is overwritten when the alarm closes. Every connection sets `secure_delete`, so that the file keeps no trace;
  whoever overwrites it also truncates the write-ahead log. It is in no chain, because it must be able to go.
- **What is not understood is not ignored.** A ledger with a line of a kind that this version does not know, a second
  table or an unknown option is refused in words: going on without it could spend what an owner has forbidden.

`terms` (one line): what the owner fixed. `second_table_mark` binds a ledger of two tables (a foreign key whose parent
is private) to the second one; `options` is a JSON object, sealed like the rest, of what has no column: `upgraded` says
which format this ledger had and what its head was then.

`epoch`: one state of the rows; `closed_overlap` is what it cost.

`entry` (chain): one debit. `analyst` asked for it (a quota adds up his lines), `label` is the owner's word for it,
`rule_set` the digest or name of the constraints. A ledger of two tables charges `second_charge` for the rows of the
second table in `second_predicate`, proven to stay below `second_upper`. Alarms are debited here like any release.

`answer` (chain): what was released for an entry, once, in the order of recording.

`act` (chain): what the owner did to the ledger: allowances, retirement, a raised budget. `kind` names the act, `detail`
is a JSON object: `after` which debit, `who` and `label` where they were given, and what the act fixes
(`dpdb.ledger.store.acts`). `terms` keeps the budget that the ledger was made with.

`analyst` (chain): from this line on `name` has these rights: a role, a `quota` and a `most_per_statement` in units of
the ledger's notion, until `expires`; `credentials` is a JSON object (digest of a token, keys made from it), null when
they are withdrawn. The newest line of a name holds.

`standing`: an alarm or another release that goes on. `entry` is its debit, `spec` public, `secret` not, `public_state`
what was published so far, `closed` the time at which it ended. `standing_answer` (chain): what each check published,
by the run id under which it may be asked again.
"""

from __future__ import annotations

__all__ = ["NOT_UNDERSTOOD", "TABLES"]

TABLES = """
CREATE TABLE terms (
    id INTEGER PRIMARY KEY CHECK (id = 1), notion TEXT NOT NULL, budget INTEGER NOT NULL, delta REAL NOT NULL,
    append_only INTEGER NOT NULL, created TEXT NOT NULL, key BLOB NOT NULL, table_mark BLOB, rows_per_person INTEGER,
    unit TEXT, second_table_mark BLOB, options TEXT, seal BLOB NOT NULL
) STRICT;
CREATE TABLE epoch (
    number INTEGER PRIMARY KEY, opened TEXT NOT NULL, source_mark BLOB, closed_overlap INTEGER, seal BLOB NOT NULL
) STRICT;
CREATE TABLE entry (
    number INTEGER PRIMARY KEY, epoch INTEGER NOT NULL REFERENCES epoch, run_id TEXT UNIQUE, request TEXT NOT NULL,
    predicate TEXT NOT NULL, charge INTEGER NOT NULL CHECK (charge >= 0), upper INTEGER NOT NULL,
    source_mark BLOB NOT NULL, reserved TEXT NOT NULL, analyst TEXT, label TEXT, rule_set TEXT,
    second_predicate TEXT, second_charge INTEGER CHECK (second_charge >= 0), second_upper INTEGER, seal BLOB NOT NULL
) STRICT;
CREATE TABLE answer (
    sequence INTEGER PRIMARY KEY, entry INTEGER NOT NULL UNIQUE REFERENCES entry, answered TEXT NOT NULL,
    answer TEXT NOT NULL, seal BLOB NOT NULL
) STRICT;
CREATE TABLE act (
    number INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, detail TEXT NOT NULL, seal BLOB NOT NULL
) STRICT;
CREATE TABLE analyst (
    number INTEGER PRIMARY KEY, at TEXT NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL, quota INTEGER,
    most_per_statement INTEGER, expires TEXT, approved_by TEXT, credentials TEXT, options TEXT, seal BLOB NOT NULL
) STRICT;
CREATE TABLE standing (
    number INTEGER PRIMARY KEY, entry INTEGER NOT NULL REFERENCES entry, kind TEXT NOT NULL, spec TEXT NOT NULL,
    secret TEXT, public_state TEXT NOT NULL, closed TEXT, seal BLOB NOT NULL
) STRICT;
CREATE TABLE standing_answer (
    sequence INTEGER PRIMARY KEY, standing INTEGER NOT NULL REFERENCES standing, run_id TEXT UNIQUE,
    request TEXT NOT NULL, answered TEXT NOT NULL, answer TEXT NOT NULL, seal BLOB NOT NULL
) STRICT;
"""

NOT_UNDERSTOOD = """
SELECT EXISTS (SELECT 1 FROM analyst) OR EXISTS (SELECT 1 FROM standing) OR EXISTS (SELECT 1 FROM standing_answer)
    OR (SELECT second_table_mark IS NOT NULL FROM terms)
"""
"""The query whether a ledger holds what this version of dpdb does not know yet."""
