-- The columns that rules and slice read, copied from the source into the types of their comparisons.
-- All later queries see this one state of the rows, without collations.
INSERT INTO $target ($stored) SELECT $read FROM $rows
