-- The distinct values of one column of many rows, in order: the code of a value is its rowid here.
-- It is stored, because tables keep the order in which they are written.
SELECT DISTINCT row.$column AS value FROM $rows AS row WHERE row.$column IS NOT NULL ORDER BY 1
