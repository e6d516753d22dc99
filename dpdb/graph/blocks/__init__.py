"""The same graph, never listed: rows in groups, or the sizes of groups, with the statistics of the listed edges."""
