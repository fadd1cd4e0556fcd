"""Roundelay, a packet-scheduling toolkit: compare queue disciplines on a capture, simulate networks,
drive a scheduler by hand, write a scheduler or a congestion control in Python.

>>> import roundelay as rd
>>> result = rd.compare("capture.pcap", rate="20mbit", queues=["fifo", "fq_codel", "qfq"])  # doctest: +SKIP
>>> result.verdict  # doctest: +SKIP

Times are in seconds, rates in bits per second, lengths in bytes, unless a name says otherwise.
Texts with units are those of the command and of ``tc``: ``"20mbit"``, ``"5ms"``, ``"1514b"``.
"""

from . import testing
from ._commands import applications, bench, bounds, compare, compare_results, import_tc, live, objective, papers, replay, simulate, verify
from ._controls import CongestionControl, ControlLike
from ._disciplines import Discipline, Parameter, schedulers
from ._errors import ContractError, RoundelayError, RunError, UsageError
from ._native import Drop, Feedback, Packet, __version__
from ._queues import Queue, QueueLike
from ._results import (
    Bounds,
    Comparison,
    Costs,
    Live,
    Objective,
    PaperItem,
    PaperResult,
    Replay,
    SideBySide,
    Simulation,
    Table,
    Together,
    Verification,
)
from ._scheduler import Scheduler
from ._sweep import Sweep, sweep

__all__ = [
    "Bounds",
    "Comparison",
    "CongestionControl",
    "ContractError",
    "ControlLike",
    "Costs",
    "Discipline",
    "Drop",
    "Feedback",
    "Live",
    "Objective",
    "Packet",
    "PaperItem",
    "PaperResult",
    "Parameter",
    "Queue",
    "QueueLike",
    "Replay",
    "RoundelayError",
    "RunError",
    "Scheduler",
    "SideBySide",
    "Simulation",
    "Sweep",
    "Table",
    "Together",
    "UsageError",
    "Verification",
    "__version__",
    "applications",
    "bench",
    "bounds",
    "compare",
    "compare_results",
    "import_tc",
    "live",
    "objective",
    "papers",
    "replay",
    "schedulers",
    "simulate",
    "sweep",
    "testing",
    "verify",
]
