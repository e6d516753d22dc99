"""One module per kind of file; each reads its tool's files and adds rules to `dpdb.rules.found.Found`."""
