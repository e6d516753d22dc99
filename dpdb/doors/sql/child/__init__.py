"""The place where an analyst's SQL runs: a process of its own, which holds answers and public tables and nothing else.

The parent (this program) parses, checks, charges, draws and records. For every statement it asks the *zygote*, a clean
interpreter that holds nothing but DuckDB and Arrow, to fork a *worker*; the worker gives up files, network and
privileges, runs the statement over empty answers, then over the answers, and is killed. Of a worker the parent believes
two things only: that the rehearsal passed, and the bytes of a result. Neither makes it spend more than the statement
says, so a worker that is broken into can lie to its own analyst and do nothing else.

`zygote`, `worker`, `sandbox` and `messages` run in the child and import nothing else of dpdb; `children` and
`remote_database` run in the parent.
"""
