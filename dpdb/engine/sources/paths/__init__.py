"""From a path to the files that it names, their kind, their state, and the columns in names of folders."""
