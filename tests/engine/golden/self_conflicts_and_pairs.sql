-- title: single-tuple and two-tuple constraints together
-- constraint: not(t1.a<0)
-- constraint: a -> b
-- schema: a BIGINT; b VARCHAR

SELECT
  u,
  v,
  dc
FROM (
  SELECT
    "a"."id" AS u,
    "b"."id" AS v,
    1 AS dc
  FROM tuple_row AS a
  JOIN tuple_row AS b
    ON (
      "a"."a" = "b"."a" AND "a"."b" <> "b"."b"
    ) AND "a"."id" < "b"."id"
) AS edge
ORDER BY
  u,
  dc,
  v;

SELECT
  id
FROM tuple_row AS row
WHERE
  "row"."a" < CAST('0' AS BIGINT)
ORDER BY
  id NULLS FIRST;
