-- title: several constraints: the first violated counts
-- constraint: a -> b
-- constraint: not(t1.a=t2.a&t1.c<t2.c)
-- constraint: not(t1.b=t2.c)
-- schema: a BOOLEAN; b BIGINT; c BIGINT

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
    LEAST("a"."id", "b"."id") AS u,
    GREATEST("a"."id", "b"."id") AS v,
    1 AS dc
  FROM tuple_row AS a
  JOIN tuple_row AS b
    ON (
      "a"."a" = "b"."a" AND "a"."c" < "b"."c"
    )
    AND NOT (
      "a"."a" = "b"."a" AND "a"."b" <> "b"."b"
    ) IS TRUE
  UNION ALL
  SELECT
    LEAST("a"."id", "b"."id") AS u,
    GREATEST("a"."id", "b"."id") AS v,
    2 AS dc
  FROM tuple_row AS a
  JOIN tuple_row AS b
    ON "a"."b" = "b"."c"
    AND "a"."id" <> "b"."id"
    AND (
      "a"."id" < "b"."id" OR NOT (
        "b"."b" = "a"."c"
      ) IS TRUE
    )
    AND NOT (
      "a"."a" = "b"."a" AND "a"."b" <> "b"."b"
    ) IS TRUE
    AND NOT (
      (
        "a"."a" = "b"."a" AND "a"."c" < "b"."c"
      )
      OR (
        "b"."a" = "a"."a" AND "b"."c" < "a"."c"
      )
    ) IS TRUE
) AS edge
ORDER BY
  u,
  dc,
  v;
