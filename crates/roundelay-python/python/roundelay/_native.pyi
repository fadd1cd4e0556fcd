"""The compiled module: see the package for the typed interface."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, Self, final

__version__: str

@final
class Packet:
    """A packet in a queue. Times are in seconds."""

    @property
    def flow(self) -> int:
        """Number of the packet's flow."""
    @property
    def length(self) -> int:
        """Bytes on the link."""
    @property
    def payload(self) -> Any:
        """The caller's object."""
    @property
    def arrival(self) -> float:
        """Arrival at the queue, seconds."""
    @property
    def priority(self) -> int:
        """Smaller goes first, in disciplines that serve by priority."""
    @property
    def slack(self) -> float:
        """Queueing time still allowed, seconds."""
    @property
    def deadline(self) -> float | None:
        """When the receiver needs the packet, in seconds. None without a deadline."""
    @property
    def ecn(self) -> bool:
        """Whether the packet may be marked instead of dropped (ECN)."""
    @property
    def marked(self) -> bool:
        """Whether a queue has marked the packet (ECN's CE)."""
    def mark(self) -> None:
        """Marks the packet with ECN's CE."""

@final
class Drop:
    """A packet that was dropped, with the reason."""

    @property
    def packet(self) -> Packet:
        """The packet."""
    @property
    def reason(self) -> str:
        """``full``, ``pushed_out``, ``early``, ``refused`` or ``filtered``."""

class Scheduler:
    """A queue discipline with its buffer, that you drive. Times are in seconds."""

    def __new__(cls, spec: str, own: Own | None, rate: str | None, limit: str | None, seed: int) -> Self: ...
    def enqueue(
        self,
        flow: int,
        length: int,
        payload: object = None,
        now: float | None = None,
        *,
        ecn: bool = False,
        priority: int = 0,
        slack: float = 0.0,
        deadline: float | None = None,
    ) -> bool:
        """Adds a packet. Returns whether this packet is in the queue after the call.

        - ``flow``: number of the flow, 0 or more.
        - ``length``: bytes on the link, 1 to 65535.
        - ``payload``: any object, which you get back with the packet.
        - ``now``: seconds, by default the time of the call before.
        - ``ecn``: the packet may be marked instead of dropped.
        - ``priority``: smaller goes first, where the discipline reads it.
        - ``slack``, ``deadline``: seconds, for disciplines that read them.
        """
    def dequeue(self, now: float | None = None) -> Packet | None:
        """The next packet. None if the queue is empty, or if no packet may leave before ``ready_at``."""
    @property
    def dropped(self) -> list[Drop]:
        """Packets dropped in the last call, in order."""
    @property
    def drops(self) -> dict[str, int]:
        """Packets dropped so far, by reason: full, pushed_out, early, refused, filtered."""
    def set_flow(self, flow: int, weight: int, max_packet_length: int) -> None:
        """Sets a flow's weight, 1 to 1024, and longest packet, 512 to 65536 bytes."""
    def remove_flow(self, flow: int) -> None:
        """Removes a flow. A backlogged flow keeps its settings until its last packet has left."""
    @property
    def backlog_bytes(self) -> int:
        """Bytes in the queue."""
    @property
    def ready_at(self) -> float | None:
        """When a discipline that idles although packets wait serves next, in seconds. None: never idles."""
    @property
    def spec(self) -> str:
        """The discipline with its parameters, as ``tc`` writes them."""
    @property
    def limit(self) -> str:
        """The buffer's limit: ``1000p``, ``150kb``."""
    def __len__(self) -> int: ...

@final
class Feedback:
    """A TCP connection's state when its congestion control is called."""

    @property
    def now(self) -> float:
        """Time of the call, seconds."""
    @property
    def window(self) -> int:
        """The congestion window before the call, bytes (cwnd)."""
    @property
    def threshold(self) -> int:
        """The slow start threshold before the call, bytes (ssthresh)."""
    @property
    def segment_length(self) -> int:
        """Most data in a segment, bytes (SMSS)."""
    @property
    def acknowledged(self) -> int:
        """Newly acknowledged data, bytes. 0 on losses, marks and timeouts."""
    @property
    def in_flight(self) -> int:
        """Data in the network, bytes. At an acknowledgement this is the pipe of RFC 6675, and at losses, marks
        and timeouts FlightSize of RFC 5681, data sent and not acknowledged."""
    @property
    def round_trip(self) -> float | None:
        """The round trip measured by this acknowledgement, seconds, in steps of TCP's clock (1 ms with
        ``preset = "rfc"``). None if there is none."""
    @property
    def smoothed_round_trip(self) -> float | None:
        """The smoothed round trip, seconds (SRTT of RFC 6298). None before the first measurement."""

@final
class Control:
    def __new__(cls, name: str, make: Callable[[], object] | None) -> Control: ...

@final
class Own:
    def __new__(
        cls, name: str, about: str, make: Callable[[int], object], reorders: bool, weighted: bool, limit: str, reads: Sequence[str] = ...
    ) -> Own: ...

@final
class Table:
    def __new__(cls, columns: Sequence[tuple[str, Sequence[int | float | str | None]]]) -> Table: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def names(self) -> list[str]: ...
    def column(self, name: str) -> list[Any]: ...
    def __len__(self) -> int: ...

@final
class Outcome:
    def __new__(
        cls, json: str, html: str, document: str, metadata: list[tuple[str, str]], tables: list[tuple[str, Table]]
    ) -> Outcome: ...
    def json(self) -> str: ...
    def html(self) -> str: ...
    def text(self, width: int | None = None) -> str: ...
    def part(self) -> str: ...
    def rows(self, name: str) -> Table: ...
    @property
    def metadata(self) -> list[tuple[str, str]]: ...

@final
class Classes:
    def __new__(cls, queues: list[Own], controls: list[tuple[str, Control]], versions: dict[str, str]) -> Classes: ...

@final
class Swept:
    def json(self) -> str: ...
    def text(self) -> str: ...
    def why(self) -> str: ...
    def runs(self) -> Table: ...

@final
class Session:
    def __new__(cls, words: list[str], given: tuple[str, str] | None, classes: Classes | None = None) -> Session: ...
    def tasks(self) -> list[str]: ...
    def commit(self, result: bytes) -> None: ...
    def failed(self, task: str, message: str) -> None: ...
    def finish(self) -> Swept: ...

def compare(
    words: list[str], own: list[tuple[int, Own]], progress: Callable[[int, int], object] | None = None
) -> Outcome: ...
def simulate(
    words: list[str],
    given: tuple[str, str] | None,
    own: list[tuple[int, Own]],
    controls: list[tuple[str, Control]],
    progress: Callable[[int, int], object] | None = None,
) -> Outcome: ...
def simulate_queues(
    words: list[str],
    given: tuple[str, str] | None,
    own: list[tuple[int, Own]],
    controls: list[tuple[str, Control]],
    pair: bool,
    progress: Callable[[int, int], object] | None = None,
) -> Outcome: ...
def plot(results: list[tuple[str, str]], figure: str | None, kinds: list[str]) -> Outcome: ...
def replay(
    words: list[str],
    given: tuple[str, str] | None,
    controls: list[tuple[str, Control]],
    progress: Callable[[int, int], object] | None = None,
) -> Outcome: ...
def sweep(
    words: list[str],
    given: tuple[str, str] | None,
    classes: Classes | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Swept: ...
def table(pickled: object) -> Table: ...
def sweep_task(task: str, classes: Classes | None = None) -> bytes: ...
def bounds(words: list[str], given: tuple[str, str] | None) -> str: ...
def check(own: Own) -> tuple[int, int, int, int]: ...
def disciplines() -> list[dict[str, Any]]: ...
def papers() -> list[tuple[list[str], bool]]: ...
def main(file: str | PathLike[str], arguments: list[str]) -> int: ...
def attempt(file: str | PathLike[str], arguments: list[str]) -> int: ...
def options(command: str) -> dict[str, Literal["path", "value", "switch"]]: ...
def schema() -> str: ...
def template(name: str) -> str | None: ...
