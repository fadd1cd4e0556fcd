"""Results in pickles: equal in every protocol, in copies and in other processes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import pyarrow
import pytest
from conftest import CAPTURE, ROOT, SMALL, Fifo

import roundelay as rd

METER = '[meter]\nrates = "100ms"\ntransfers = true\nflows = true\n'
OFFICE = ROOT / "examples/bounds/office.toml"


class Refuses(Fifo):
    """Fails at its first packet, for a run that fails."""

    limit = "10p"
    version = "1"

    def enqueue(self, packet, now):
        raise LookupError("no table")


CALLS = {
    "compare": lambda: rd.compare(CAPTURE, "5mbit", ["fifo", "fq_codel", "drr", "qfq"], trees=ROOT / "examples/trees/home.toml"),
    "simulate": lambda: rd.simulate(SMALL + METER, replicas=2),
    "replay": lambda: rd.replay(SMALL, ["lstf", "edf"]),
    "sweep": lambda: rd.sweep(SMALL, {"queue.core": ["fifo", "qfq", Refuses]}, seeds=2),
    "bounds": lambda: rd.bounds(OFFICE, ["drr", "qfq"], rate="100mbit"),
}
TABLES = ["flows", "links", "transfers", "rates", "replays", "runs"]
WIDTHS = [None, 0, 60, 80, 132, 65535]


@pytest.fixture(scope="module", params=CALLS)
def result(request):
    return CALLS[request.param]()


def shown(result) -> dict[str, object]:
    """All that a result shows."""
    found: dict[str, object] = {"dict": result.to_dict(), "repr": repr(result), "text": str(result), "notebook": result._repr_html_()}
    for name in ("to_json", "to_html"):
        found[name] = getattr(result, name, lambda: None)()
    if hasattr(result, "to_text"):
        found |= {f"{width} columns": result.to_text(width) for width in WIDTHS}
    tables = {name: pyarrow.table(getattr(result, name)) for name in TABLES if hasattr(result, name)}
    found |= {"tables": tables, "schemas": {name: (table.schema, table.schema.metadata) for name, table in tables.items()}}
    names = ("metadata", "notes", "verdict", "commands", "best", "failed", "why", "path", "delays")
    return found | {name: getattr(result, name) for name in names if hasattr(result, name)}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickled_result_shows_the_same(result, protocol):
    again = pickle.loads(pickle.dumps(result, protocol))
    assert type(again) is type(result) and shown(again) == shown(result)
    assert pickle.loads(pickle.dumps(again, protocol)).to_dict() == result.to_dict()


def test_the_sweep_has_a_failed_run():
    assert len(CALLS["sweep"]().failed) == 2


def test_copies_show_the_same(result):
    assert shown(copy.copy(result)) == shown(copy.deepcopy(result)) == shown(result)


def test_pickles_of_equal_results_are_equal(result):
    """As caches want these that name a result by its pickle."""
    assert pickle.dumps(pickle.loads(pickle.dumps(result))) == pickle.dumps(result)


def test_plots_of_a_pickled_result_have_the_same_values():
    result = CALLS["compare"]()
    lines = [[line.get_xydata().tolist() for line in each.plot.delay_cdf().get_lines()] for each in (result, pickle.loads(pickle.dumps(result)))]
    assert lines[0] == lines[1] != []


def test_results_travel_to_a_spawned_process_and_back(result):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        assert executor.submit(shown, result).result() == shown(result)
        assert shown(executor.submit(copy.copy, result).result()) == shown(result)


def test_tables_errors_and_columns_of_every_type_can_be_pickled():
    table = rd.simulate(SMALL + METER).flows
    assert {str(kind) for kind in pyarrow.table(table).schema.types} >= {"string", "double", "uint64", "bool"}
    again = pickle.loads(pickle.dumps(table))
    assert again.to_dict() == table.to_dict() and (len(again), repr(again)) == (len(table), repr(table))
    empty = rd.simulate(SMALL).transfers
    assert len(pickle.loads(pickle.dumps(empty))) == len(empty) == 0
    assert pickle.loads(pickle.dumps(empty)).column_names == empty.column_names != []
    with pytest.raises(rd.UsageError) as found:
        rd.simulate("missing.toml")
    error = pickle.loads(pickle.dumps(found.value))
    assert (str(error), error.path, error.status) == (str(found.value), "missing.toml", 2)


def test_a_pickle_of_another_version_is_refused():
    _, (outcome,) = rd.replay(SMALL).__reduce__()
    kind, (json, html, _, metadata, tables) = outcome.__reduce__()
    with pytest.raises(ValueError, match="another version of Roundelay"):
        kind(json, html, "[]]", metadata, tables)
