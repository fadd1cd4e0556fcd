"""The set-ups of a household behind one link: what the kernel runs, and what Roundelay simulates."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Setup:
    """A bottleneck, the congestion control of all servers, and how many bulk transfers there are."""

    name: str
    mbit: int
    qdisc: str
    discipline: str
    control: str = "cubic"
    bulks: int = 2
    # Chosen, run and predicted when nothing of the senders was to be changed any more.
    is_held_out: bool = False
    # What the applications are, and which capture has them: the one of the kind's first set-up.
    kind: str = "household"
    # Letters of traffic.c that change the applications.
    letters: str = "-"
    # The way up: its rate, none for a way without a limit, and the packets, as long as the client's stack makes them, that wait for it.
    up_mbit: int | None = None
    up_limit: int = 10_000

    @property
    def rate(self):
        """In bits per second."""
        return self.mbit * 1_000_000

    def run_line(self, seed):
        """The guest's line for one run."""
        up_rate = (self.up_mbit or 1000) * 1_000_000
        return f"{self.name}-{seed} {SECONDS} {seed} {self.rate} {up_rate} {self.up_limit} {self.control} {self.bulks} {self.letters} {self.qdisc}\n"


SECONDS = 30
# The guest's wires carry packets without a frame, and the quantum is by default as long as a packet with its frame.
FQ_CODEL = "fq_codel linux quantum 1500"


def of_kind(kind, **rest):
    """The set-ups of a kind: the captured one first, then four other rates and three other queues."""
    links = [
        ("captured", 20, "pfifo limit 100", "fifo limit 100"),
        ("slower", 10, "pfifo limit 100", "fifo limit 100"),
        ("fq_codel", 10, "fq_codel", FQ_CODEL),
        ("faster", 35, "pfifo limit 100", "fifo limit 100"),
        ("short", 20, "pfifo limit 30", "fifo limit 30"),
        ("slowest", 5, "pfifo limit 100", "fifo limit 100"),
        ("pie", 10, "pie limit 1000", "pie limit 1000"),
        ("fastest", 50, "pfifo limit 100", "fifo limit 100"),
    ]
    return [Setup(f"{kind}-{name}", *link, kind=kind, **rest) for name, *link in links]


# The applications are read from a capture of the first set-up alone.
SETUPS = [
    Setup("captured", 20, "pfifo limit 100", "fifo limit 100"),
    Setup("slower", 10, "pfifo limit 100", "fifo limit 100"),
    Setup("slowest", 5, "pfifo limit 40", "fifo limit 40"),
    Setup("faster", 50, "pfifo limit 100", "fifo limit 100"),
    Setup("short", 20, "pfifo limit 30", "fifo limit 30"),
    Setup("bytes", 10, "bfifo limit 60000", "fifo limit 60000b"),
    Setup("fq_codel", 10, "fq_codel", FQ_CODEL),
    Setup("pie", 5, "pie limit 1000", "pie limit 1000"),
    Setup("reno", 10, "pfifo limit 100", "fifo limit 100", "reno"),
    Setup("bbr", 10, "pfifo limit 100", "fifo limit 100", "bbr"),
    # Half of the product of bandwidth and delay for round trips of 40 ms, and four times that for the 20 ms of the one transfer.
    Setup("many", 100, "pfifo limit 170", "fifo limit 170", bulks=16),
    Setup("alone", 20, "pfifo limit 130", "fifo limit 130", "bbr", bulks=1),
    Setup("eight", 8, "fq_codel", FQ_CODEL),
    Setup("eight-bbr", 8, "fq_codel", FQ_CODEL, "bbr"),
    Setup("held-slow", 8, "pfifo limit 60", "fifo limit 60", is_held_out=True),
    Setup("held-reno", 35, "pfifo limit 80", "fifo limit 80", "reno", is_held_out=True),
    Setup("held-codel", 15, "codel limit 1000", "codel limit 1000", is_held_out=True),
    Setup("held-bbr", 12, "pfifo limit 60", "fifo limit 60", "bbr", is_held_out=True),
    Setup("held-four", 30, "bfifo limit 150000", "fifo limit 150000b", bulks=4, is_held_out=True),
]
# Senders and applications that the household's capture has not. Each kind is predicted from its own capture as it is read, without a word about its senders.
KINDS = {
    "bbr": of_kind("bbr", control="bbr"),
    # Servers 1 to 3 in turn.
    "mixed": of_kind("mixed", control="bbr,cubic,cubic"),
    "uploads": of_kind("uploads", letters="u", up_mbit=4, up_limit=50),
    "distances": of_kind("distances", letters="f"),
    "reacting": of_kind("reacting", letters="r"),
}
OF_KINDS = [setup for setups in KINDS.values() for setup in setups]
