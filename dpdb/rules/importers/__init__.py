"""One file per kind of file; each reads what its tool wrote and writes rules into `dpdb.rules.found.Found`."""
