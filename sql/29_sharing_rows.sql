-- The rows that share one of several keys with another row: each once, whatever number of keys it shares.
-- A window for each key counts the rows that have its value, so that a row is read once for all keys.
SELECT CAST(count(*) AS BIGINT) AS sharing
FROM (SELECT keyed.$has, $sharers FROM $keyed AS keyed) AS counted
WHERE $some
