-- title: names that need quotes
-- constraint: not(t1."group by"=t2."group by"&t1."it's ""x"""!=t2."it's ""x""")
-- schema: group by BIGINT; it's "x" VARCHAR

SELECT
  u,
  v,
  dc
FROM (
  SELECT
    "a"."id" AS u,
    "b"."id" AS v,
    0 AS dc
  FROM tuple_row AS a
  JOIN tuple_row AS b
    ON (
      "a"."group by" = "b"."group by" AND "a"."it's ""x""" <> "b"."it's ""x"""
    )
    AND "a"."id" < "b"."id"
) AS edge
ORDER BY
  u,
  dc,
  v;
