-- title: constraints that exclude each other need no exclusion
-- constraint: not(t1.a=t2.a&t1.b!=t2.b)
-- constraint: not(t1.a!=t2.a&t1.c=t2.c)
-- constraint: not(t1.b<t2.b&t1.a>t2.a)
-- schema: a BOOLEAN; b SMALLINT; c DATE

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
      "a"."a" = "b"."a" AND "a"."b" <> "b"."b"
    ) AND "a"."id" < "b"."id"
  UNION ALL
  SELECT
    "a"."id" AS u,
    "b"."id" AS v,
    1 AS dc
  FROM tuple_row AS a
  JOIN tuple_row AS b
    ON (
      "a"."a" <> "b"."a" AND "a"."c" = "b"."c"
    ) AND "a"."id" < "b"."id"
  UNION ALL
  SELECT
    LEAST("a"."id", "b"."id") AS u,
    GREATEST("a"."id", "b"."id") AS v,
    2 AS dc
  FROM tuple_row AS a
  JOIN tuple_row AS b
    ON (
      "a"."b" < "b"."b" AND "a"."a" > "b"."a"
    )
    AND NOT (
      "a"."a" <> "b"."a" AND "a"."c" = "b"."c"
    ) IS TRUE
) AS edge
ORDER BY
  u,
  dc,
  v;
