"""Everything works in a plain Jupyter kernel, where DuckDB's settings of its progress bar need ipywidgets."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty

import nbformat
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel
from nbclient import NotebookClient

CELLS = """\
import duckdb, pyarrow as pa, dpdb
rows = pa.table({"zip": ["1", "1", "2"] * 50, "city": ["a", "b", "c"] * 50, "age": [1, 2, 3] * 50})
session = dpdb.open(rows, constraints="zip -> city", budget=10)
release = session.dp_inconsistency("repair", epsilon=1.0)
release
---
session.dp_inconsistency("all", epsilon=1.0, by="zip", keys=["1", "2"])
---
assert session.dp_count(0.5).measure == "count"
session.close()
---
planned = dpdb.plan(rows, "zip -> city", rows=300, error_rate=0.01, repetitions=5, seed=1)
planned.rows
---
from dpdb.release.explain import explain
explain(rows, "zip -> city")["releases"][0]["mechanism"]
---
from dpdb.owner.exact import exact_measures
exact_measures(rows, "zip -> city", non_private=True).problematic
---
con = duckdb.connect()
con.execute("CREATE TABLE visits AS FROM rows")
registration = dpdb.register(con, constraints="zip -> city", budget=3.0)
con.execute("SELECT measure, epsilon FROM dp_inconsistency('visits', measure := 'repair', epsilon := 0.5)").fetchall()
---
registration.close()
---
planned
---
with dpdb.open(rows, constraints="zip -> city", progress=dpdb.progress_bar()) as other:
    _ = other.dp_inconsistency("repair", epsilon=1.0), other.dp_count(1)
"""


@pytest.mark.heavy(family="long")
@pytest.mark.filterwarnings("default")  # of the notebook's own libraries
def test_a_notebook_opens_measures_plans_explains_registers_and_shows_cards(tmp_path: Path) -> None:
    if importlib.util.find_spec("ipywidgets"):
        pytest.skip("ipywidgets is installed: this kernel is not a plain one")
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in CELLS.split("---\n")]
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown = [[output for output in cell.outputs if "data" in output] for cell in notebook.cells]
    card, releases = (shown[k][0]["data"]["text/html"] for k in (0, 1))
    assert "repair" in card
    assert releases.count("<tr>") == 1 + 6
    assert "0.01 of its cells changed" in shown[-2][0]["data"]["text/html"]
    (bar,) = shown[-1]  # one line, written over
    assert bar["data"] == {"text/plain": "[################] drawing noise"}
    texts = [outputs[0]["data"]["text/plain"] if outputs else None for outputs in shown[2:-2]]
    assert texts == [None, "300", "'fewest_deletions'", "100", "[('repair', 0.5)]", None]


# -- Ctrl-C ---------------------------------------------------------------------------------------------------


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


SETUP = """\
import numpy as np, pyarrow as pa, dpdb
rng = np.random.default_rng(1)
n = 400_000
thick = pa.table({"x": rng.integers(0, 300, n), "y": rng.integers(0, 300, n)})
session = dpdb.open(thick, constraints="not(t1.x>t2.x&t1.y<t2.y)")
session.dp_count(1)
tiny = dpdb.dp_inconsistency(thick.slice(0, 50), "not(t1.x>t2.x&t1.y<t2.y)", "minimal_inconsistency", 1)
"""


@pytest.mark.heavy(family="long")
@pytest.mark.filterwarnings("default")
def test_interrupting_the_kernel_stops_the_computation(
    kernel: tuple[KernelManager, BlockingKernelClient], tmp_path: Path
) -> None:
    """A cap that keeps 10^10 edges of an order rule takes half a minute; afterwards no thread computes on."""
    manager, client = kernel
    assert client.execute_interactive(SETUP, timeout=120)["content"]["status"] == "ok"
    # Else the kernel may drop the cells that come next, unrun.
    asked = client.execute("session.dp_inconsistency('minimal_inconsistency', 1, theta=100_000)", stop_on_error=False)
    time.sleep(3)
    manager.interrupt_kernel()
    worked = _worked(manager)
    assert _reply(client, asked) == "KeyboardInterrupt"
    assert _worked(manager) - worked < 5
    asked = client.execute(
        "import os, time; before = os.times(); time.sleep(1); after = os.times(); "
        "assert after.user - before.user < .3, after.user - before.user"
    )
    assert _reply(client, asked) is None
    asked = client.execute("assert session.spent() == 2; session.dp_count(1).value")
    assert _reply(client, asked) is None


def _worked(manager: KernelManager) -> float:
    """Seconds of processor time that the kernel has used; other work on the machine changes nothing of them."""
    fields = Path(f"/proc/{manager.provisioner.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _reply(client: BlockingKernelClient, asked: str) -> str | None:
    """The name of the error of a cell, None if there was none."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            reply = client.get_shell_msg(timeout=5)
        except Empty:
            continue
        if reply["parent_header"].get("msg_id") == asked:
            content = reply["content"]
            return None if content["status"] == "ok" else str(content["ename"])
    raise TimeoutError(f"no reply; process {os.getpid()}")
