"""The small table that the tests of this room measure, and its constraint."""

# 7 conflicts in the whole table, all with zip 1; repair, relaxed or not, is 2: the rows with cities b and z.
VISITS = """
    CREATE TABLE visits AS SELECT * FROM (VALUES
        ('CA', 1, 'a'), ('CA', 1, 'b'), ('CA', 2, 'c'), ('NY', 1, 'a'), ('NY', 1, 'a'), (NULL, 1, 'z')
    ) AS t(state, zip, city)
"""
RULE = "zip -> city"
