"""Predicates: the one tree of a WHERE clause, from which the rows that are read and the rows that are charged come.

`parse` takes text, `bind` types it with what the engine knows, `sql` writes it for the engine, `covered` finds the
boxes that the accountant charges. Pure: no database is asked here, and no row is read.
"""
