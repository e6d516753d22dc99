"""The progress bar of notebooks: a widget where there are widgets, text without, nothing elsewhere; never a number."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pyarrow as pa
import pytest

import dpdb
from dpdb.engine import no_progress

ROWS = pa.table({"zip": ["1", "1", "2"], "city": ["a", "b", "c"]})


class Shown:
    """What a notebook shows of one output."""

    def __init__(self, first: object) -> None:
        self.states = [first]

    def update(self, state: object, *, raw: bool) -> None:
        assert raw
        self.states.append(state)


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> list[Shown]:
    """IPython in a kernel, without ipywidgets."""
    outputs: list[Shown] = []

    def display(first: object, **_: object) -> Shown:
        outputs.append(Shown(first))
        return outputs[-1]

    fake = ModuleType("IPython")
    fake.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    fake.display = SimpleNamespace(display=display)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", fake)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    return outputs


@pytest.mark.heavy(family="long")
def test_one_line_of_text_names_the_steps_and_is_full_after_each_release(outputs: list[Shown]) -> None:
    with dpdb.open(ROWS, constraints="zip -> city", progress=dpdb.progress_bar()) as session:
        session.dp_inconsistency("repair", epsilon=1)
        session.dp_inconsistency("problematic", where="zip = '1'", epsilon=1)
    (line,) = outputs
    texts = [state["text/plain"] for state in line.states]  # type: ignore[index]
    assert texts[0] == "[................] "
    assert texts.count("[################] drawing noise") == 2
    assert texts[-1] == "[################] drawing noise"
    assert "[########........] counting groups" in texts  # repair counts exactly, and needs no graph
    assert any(text.endswith(" ranking rows") for text in texts)
    assert not any(character.isdigit() for text in texts for character in text)


def test_a_widget_where_there_are_widgets(outputs: list[Shown], monkeypatch: pytest.MonkeyPatch) -> None:
    widgets = ModuleType("ipywidgets")
    widgets.IntProgress = lambda **settings: SimpleNamespace(value=0, **settings)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ipywidgets", widgets)
    with dpdb.open(ROWS, constraints="zip -> city", progress=dpdb.progress_bar()) as session:
        session.dp_inconsistency("repair", epsilon=1)
    (bar,) = outputs[0].states
    assert (bar.value, bar.max, bar.description) == (4, 4, "drawing noise")  # type: ignore[attr-defined]


@pytest.mark.parametrize("interpreter", [None, SimpleNamespace()], ids=["script", "terminal"])
def test_nothing_outside_a_notebook(interpreter: object, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = ModuleType("IPython")
    fake.get_ipython = lambda: interpreter  # type: ignore[attr-defined]
    fake.display = SimpleNamespace(display=None)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", fake)
    assert dpdb.progress_bar() is no_progress
    monkeypatch.delitem(sys.modules, "IPython")
    assert dpdb.progress_bar() is no_progress
