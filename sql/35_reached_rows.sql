-- The rows of a table with the units that they belong to through keys: one row for each unit, and none for nobody's.
-- Whether a row belongs to a unit depends on rows of this unit alone, so a unit that leaves takes its own rows only.
SELECT child_row.$columns, owner.unit AS $unit
FROM $rows AS child_row
JOIN $owners AS owner ON $same
