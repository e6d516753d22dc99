"""The SQL front end: an analyst's statements, which reach the private table through releases only.

A statement is accepted or refused by its syntax tree, default deny (`check`); on the private table it may only call
`dp_inconsistency` and `dp_count`, with literal arguments (`call`). The session makes the releases, and the statement
then runs in another process, which holds their answers and the public tables and nothing else (`child`).
"""

from dpdb.doors.sql.admitted import Admitted, Planner, Result
from dpdb.doors.sql.asked_errors import AskedErrors
from dpdb.doors.sql.call import named_first
from dpdb.doors.sql.check import statement_words
from dpdb.doors.sql.child.public_tables import PublicTables
from dpdb.doors.sql.front_end import FrontEnd
from dpdb.doors.sql.parse import Spoken, split_statements
from dpdb.doors.sql.rewrite import MOST_PARAMETERS, Numeral, ParameterType, Template, Value, literal_node, replace_all

__all__ = [
    "MOST_PARAMETERS", "Admitted", "AskedErrors", "FrontEnd", "Numeral", "ParameterType", "Planner",
    "PublicTables", "Result", "Spoken", "Template", "Value", "literal_node", "named_first", "replace_all",
    "split_statements", "statement_words",
]  # fmt: skip
