"""Everything that becomes SQL: bound constraints and predicates, joins, ranks, codes, degree bounds, counts."""
