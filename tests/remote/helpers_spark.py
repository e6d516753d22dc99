"""The settings of Spark sessions in tests, and what a machine must have for one."""

from __future__ import annotations

import shutil
from pathlib import Path

FOLDERS = [str(Path(__file__).parents[1] / "engine"), str(Path(__file__).parent)]

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # compiled quickly, not for hours
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
}
# Tables of a few rows: compiling a program for each query would take most of the time.
FOR_FEW_ROWS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


def why_no_spark() -> str | None:
    """Say what is missing for Spark."""
    if shutil.which("java") is None:
        return "Spark needs Java, and there is none on the PATH"
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "pyspark is not installed: pip install 'dpdb[spark]'"
    return None
