-- How many rows a table has.
-- Private: no release says it without noise.
SELECT count(*) FROM $rows
