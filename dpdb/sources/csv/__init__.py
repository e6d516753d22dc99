"""CSV files: the rule by which a text is rows, the rows as Arrow batches, and the kind of source."""
