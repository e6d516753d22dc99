-- title: cross columns in one orientation or the other
-- constraint: not(t1.a=t2.b)
-- schema: a BIGINT; b DOUBLE

SELECT
  u,
  v,
  dc
FROM (
  SELECT
    LEAST("a"."id", "b"."id") AS u,
    GREATEST("a"."id", "b"."id") AS v,
    0 AS dc
  FROM tuple_row AS a
  JOIN tuple_row AS b
    ON TRY_CAST("a"."a" AS DOUBLE) = "b"."b"
    AND "a"."id" <> "b"."id"
    AND (
      "a"."id" < "b"."id" OR NOT (
        TRY_CAST("b"."a" AS DOUBLE) = "a"."b"
      ) IS TRUE
    )
) AS edge
ORDER BY
  u,
  dc,
  v;
