"""Jobs from Python: `load_job`, `plan`, `run` and `read_results`, with the types of their arguments and results."""

from dpdb.doors.jobs import *  # noqa: F403 - the same names
from dpdb.doors.jobs import __all__  # noqa: F401
