-- The size of the largest group of rows that agree in keys: with one more row it grows by at most 1.
-- So it bounds the degrees of the conflict graph privately (paper A, Lemma 3).
SELECT max(sized.size) FROM (SELECT count(*) AS size FROM $rows WHERE $known GROUP BY $keys) AS sized
