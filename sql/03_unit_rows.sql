-- At most so many rows of each unit: the first ones by a hash of a row's values, then by the values.
-- No row of another unit decides, so a unit that leaves takes its own rows only. Rows without a unit are not used.
SELECT row.$columns
FROM $rows AS row
WHERE NOT row.$unit IS NULL
QUALIFY row_number() OVER (PARTITION BY row.$unit ORDER BY $first) <= $most
