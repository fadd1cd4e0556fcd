"""Scenarios as typed dataclasses, generated from their JSON Schema by generate.py: do not edit.

>>> from roundelay.scenario import Dumbbell, Queues, Scenario, Tcp
>>> scenario = Scenario(
...     duration="10s",
...     topology=Dumbbell(pairs=2, rate="10mbit"),
...     queue=Queues(core="fq_codel"),
...     source=[Tcp(from_=["s0", "s1"], to=["r0", "r1"])],
... )
>>> Scenario.from_toml(scenario.to_toml()) == scenario
True

A field that is None is left out: the scenario's default applies. Names that Python reserves end in an
underscore: ``from_``, ``class_``. Values are checked by :func:`roundelay.simulate`, with the messages of the
command.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from ._tables import ByName, Choice, Table, TopTable

__all__ = [
    "Access",
    "Apart",
    "Arrivals",
    "Awaited",
    "BestEffort",
    "Burst",
    "Bytes",
    "Cbr",
    "CodePoint",
    "Completion",
    "Connections",
    "Control",
    "Decision",
    "Direction",
    "Dumbbell",
    "EdgeCodel",
    "EverySource",
    "FatTree",
    "Flavour",
    "FlowBy",
    "Format",
    "Fraction",
    "Framing",
    "Gaps",
    "Internet2",
    "Isp",
    "LeafSpine",
    "Lengths",
    "Line",
    "Link",
    "LinkClass",
    "LinkLayer",
    "Measure",
    "Message",
    "Meter",
    "Metric",
    "Mtu",
    "Node",
    "Objective",
    "Offload",
    "OnOff",
    "OneOrMany",
    "Overhead",
    "PacketBytes",
    "Pairing",
    "ParkingLot",
    "Poisson",
    "Port",
    "Preset",
    "Protocol",
    "QfqFigure8",
    "Queue",
    "Queues",
    "Rate",
    "Recorded",
    "RequestResponse",
    "Resume",
    "Routing",
    "Scenario",
    "Share",
    "Size",
    "SizesSpec",
    "SlowStart",
    "Source",
    "Talk",
    "Tcp",
    "Template",
    "Time",
    "Topology",
    "TopologyFile",
    "Trace",
    "Transport",
    "Tree",
    "TreeNode",
    "TreeRule",
    "Urgency",
    "Variant",
    "Video",
    "Voip",
    "WebPage",
    "Workload",
]


#: A time with its unit: s, ms, us or ns.
#: Examples: "5ms", "10s".
Time: TypeAlias = str | Literal[0]


#: Bits per second, as tc writes them.
#: Examples: "10mbit", "1gbit".
Rate: TypeAlias = str


@dataclass(kw_only=True)
class Dumbbell(Table):
    """Senders, a bottleneck, receivers: ``s0``, ... behind ``left``, ``r0``, ... behind ``right``."""

    template: Literal["dumbbell"] = field(default="dumbbell", init=False)
    #: Number of senders, and of receivers: 1 or more. Default: 50.
    pairs: int | None = None
    #: Rate of the link between the routers. Default: "5mbit".
    rate: Rate | None = None
    #: Delay of the link between the routers, one way. Default: "10ms".
    delay: Time | None = None
    #: Rate of each access link. Default: "100mbit".
    access_rate: Rate | None = None
    #: Delay of each access link. Default: "10ms".
    access_delay: Time | None = None
    #: Extra delay of sender ``i``: ``i`` times this. Default: "0s".
    access_delay_step: Time | None = None
    #: Extra delay of each sender, drawn evenly from 0 to this by the seed of each run. Default: "0s".
    access_delay_jitter: Time | None = None


@dataclass(kw_only=True)
class ParkingLot(Table):
    """A chain of bottlenecks: ``s0`` to ``k0`` over all, ``s1`` to ``k1`` over the first, and so on."""

    template: Literal["parking_lot"] = field(default="parking_lot", init=False)
    #: Links between routers: 1 or more. Default: 3.
    hops: int | None = None
    #: Rate of each link between routers. Default: "10mbit".
    rate: Rate | None = None
    #: Delay of each link between routers, one way. Default: "10ms".
    delay: Time | None = None
    #: Rate of each access link. Default: "100mbit".
    access_rate: Rate | None = None
    #: Delay of each access link. Default: "1ms".
    access_delay: Time | None = None


#: Routes of the best-effort flows.
BestEffort: TypeAlias = Literal["one_each", "both"]


@dataclass(kw_only=True)
class QfqFigure8(Table):
    """Figure 8 of the QFQ paper: ``S0`` to ``S4``, ``K0`` to ``K4``."""

    template: Literal["qfq_figure8"] = field(default="qfq_figure8", init=False)
    #: Routes of the best-effort flows.
    best_effort: BestEffort | None = None


#: Rates of access links, as varied in the paper's experiments.
Variant: TypeAlias = Literal["1g-10g", "1g-1g", "10g-10g", "tenth", "long-lived"]


@dataclass(kw_only=True)
class Internet2(Table):
    """The Internet2 network of the UPS paper: ``host0`` to ``host99``."""

    template: Literal["internet2"] = field(default="internet2", init=False)
    #: Rates of access links.
    variant: Variant | None = None
    #: Delays in percent of the paper's: 50 and 200 in its Figure 7. Default: 100.
    delay_percent: int | None = None


#: A part of one.
#: Examples: 0.01, "1%".
Share: TypeAlias = str | float


@dataclass(kw_only=True)
class Isp(Table):
    """A random network like a provider's: ``host0``, ... from router to router."""

    template: Literal["isp"] = field(default="isp", init=False)
    #: Core routers: 3 to 1,000. Default: 83.
    routers: int | None = None
    #: Links between core routers: from ``routers`` - 1, a tree, to one for each pair, and at most 150,000.
    #: Default: 131.
    links: int | None = None
    #: Seed of all draws. Default: 1.
    graph_seed: int | None = None
    #: Hosts, dealt out to the routers in turn: 2 to 150,000. Default: 83.
    hosts: int | None = None
    #: Rate of links from edge routers to core routers. Default: "1gbit".
    access_rate: Rate | None = None
    #: Rate of links from hosts to edge routers. Default: "10gbit".
    host_rate: Rate | None = None
    #: Delay of both kinds of links. Default: "1ms".
    access_delay: Time | None = None
    #: The fraction of core links slower than ``access_rate``, rounded to a whole number of links. Default:
    #: 0.5.
    slower: Share | None = None
    #: Maximum rate of these links: below ``access_rate``. Default: "900mbit".
    slower_rate: Rate | None = None
    #: Minimum delay of a core link. Delays are drawn evenly. Default: "1ms".
    delay: Time | None = None
    #: Maximum delay of a core link. Default: "13ms".
    most_delay: Time | None = None


@dataclass(kw_only=True)
class FatTree(Table):
    """Switches with k ports: ``host0``, ... from pod to pod."""

    template: Literal["fat_tree"] = field(default="fat_tree", init=False)
    #: Ports of a switch: even, 2 to 64. Default: 4.
    k: int | None = None
    #: Rate of all links. Default: "10gbit".
    rate: Rate | None = None
    #: Delay of a link between switches. Default: "1us".
    delay: Time | None = None
    #: Delay of a host's link. Default: "1us".
    host_delay: Time | None = None


@dataclass(kw_only=True)
class LeafSpine(Table):
    """Racks under leaves, leaves under spines: ``host0``, ... from rack to rack."""

    template: Literal["leaf_spine"] = field(default="leaf_spine", init=False)
    #: Racks: 1 or more. Default: 9.
    leaves: int | None = None
    #: Spines: 1 or more. At most a million pairs of a leaf and a spine. Default: 4.
    spines: int | None = None
    #: Hosts in a rack: 1 or more. Default: 16.
    hosts_per_leaf: int | None = None
    #: Rate of a host's link. Default: "10gbit".
    host_rate: Rate | None = None
    #: Rate of a link between leaf and spine. Default: "40gbit".
    rate: Rate | None = None
    #: Delay of a link between leaf and spine. Default: "200ns".
    delay: Time | None = None
    #: Delay of a host's link. Default: "200ns".
    host_delay: Time | None = None


#: What kind of line there is between provider and modem.
Line: TypeAlias = Literal["ethernet", "docsis", "dsl", "lte", "starlink"]


@dataclass(kw_only=True)
class Access(Table):
    """A home behind a line with deep queues: ``server``, ``isp``, ``modem``, ``router``, ``home``."""

    template: Literal["access"] = field(default="access", init=False)
    #: Rate of the line towards the home. Default: "100mbit".
    down: Rate | None = None
    #: Rate of the line away from the home. Default: "20mbit".
    up: Rate | None = None
    #: Delay between server and provider, one way. Default: "10ms".
    delay: Time | None = None
    #: What kind of line it is.
    line: Line | None = None
    #: What the queues at both ends of the line hold, in time at the line's rate: at least ten full packets.
    #: Default: "250ms".
    buffer: Time | None = None
    #: Rate of the links in the home, and of the provider's network. Default: "1gbit".
    lan: Rate | None = None


#: Values of ``template``: a topology with its parameters.
Template: TypeAlias = Dumbbell | ParkingLot | QfqFigure8 | Internet2 | Isp | FatTree | LeafSpine | Access


_TEMPLATE = Choice("template", {"dumbbell": Dumbbell, "parking_lot": ParkingLot, "qfq_figure8": QfqFigure8, "internet2": Internet2, "isp": Isp, "fat_tree": FatTree, "leaf_spine": LeafSpine, "access": Access})


#: Format of a file.
Format: TypeAlias = Literal["edges", "gml", "graphml", "rocketfuel"]


@dataclass(kw_only=True)
class TopologyFile(Table):
    """A topology file."""

    #: Path, relative to the scenario's folder.
    file: str
    #: File format. Left out: by the file's name.
    format: Format | None = None
    #: The second file, for formats with two files: Rocketfuel's latencies.
    second: str | None = None
    #: Rate of links without a rate. Default: "10gbit".
    rate: Rate | None = None
    #: Delay of links without a delay and without coordinates of both ends. Default: "1ms".
    delay: Time | None = None
    #: Hosts to attach to each router: ``host0``, ``host1``, ... from router to router. With 0, nodes with one
    #: neighbour are the hosts. Default: 1.
    hosts_per_router: int | None = None
    #: Rate of an attached host's link. Default: "1gbit".
    access_rate: Rate | None = None
    #: Delay of an attached host's link. Default: "1ms".
    access_delay: Time | None = None


#: The ``[topology]`` table for the schema.
Topology: TypeAlias = Template | TopologyFile


_TOPOLOGYTABLE = Choice("template", _TEMPLATE.kinds, otherwise=TopologyFile)


#: A discipline as tc writes it: ``roundelay list`` names them. Or tree, its name in [trees] or a file that
#: describes one, and its limit.
#: Examples: "fifo limit 100", "fq_codel limit 1000 target 5ms", "qfq", "tree home.toml limit 1000".
Queue: TypeAlias = str


@dataclass(kw_only=True)
class Queues(Table):
    """The table ``queues``."""

    #: Queues between core routers, and the default of ``edge``. By default fifo limit 1000.
    core: Queue | None = None
    #: Queues of other router outputs. By default as core.
    edge: Queue | None = None
    #: Queues of hosts' network interfaces. By default fifo, with a limit never reached.
    host: Queue | None = None


#: Bytes, as a number or with a unit.
Size: TypeAlias = int | str


@dataclass(kw_only=True)
class TreeNode(Table):
    """A node of a tree."""

    #: Name for errors and other nodes.
    name: str
    #: Discipline for the node's packets or children, as in tc.
    discipline: str
    #: The class whose service the node shares. Left out: the node is the root.
    parent: str | None = None
    #: Weight relative to siblings, for the parent's service: 1 to 1024.
    weight: int | None = None
    #: Longest packet in bytes: 512 to 65,536.
    maxpkt: Size | None = None
    #: Priority among siblings, smallest first, if the parent uses priorities.
    priority: int | None = None
    #: Below a class of htb: what the node may send without borrowing, as in "10mbit".
    rate: str | None = None
    #: Below a class of htb: what the node may send with borrowing. Left out: the rate.
    ceil: str | None = None
    #: Below a class of htb: bytes at once at the rate.
    burst: Size | None = None
    #: Below a class of htb: bytes at once at the ceil.
    cburst: Size | None = None
    #: Below a class of htb: who borrows first, 0 to 7.
    prio: int | None = None
    #: Below a class of htb: bytes of a leaf's turn when it borrows.
    quantum: Size | None = None
    #: Below the topmost node of htb: whether packets of this leaf belong to no class and go first. Default:
    #: false.
    direct: bool | None = None
    #: Below a class of hfsc: what a leaf is guaranteed, as in "umax 1500 dmax 5ms rate 1mbit".
    rt: str | None = None
    #: Below a class of hfsc: how the node and its siblings share what is left, as in "m2 10mbit".
    ls: str | None = None
    #: Below a class of hfsc: rt and ls in one.
    sc: str | None = None
    #: Below a class of hfsc: what the sharing gives at most.
    ul: str | None = None
    #: Flows for this leaf, as in "dscp ef".
    flows: Sequence[str] | None = None
    #: Whether flows without a matching rule go to this leaf. Default: false.
    default: bool | None = None


@dataclass(kw_only=True)
class TreeRule(Table):
    """A rule that says which leaf gets a flow."""

    #: The flows, as in "dscp ef".
    match: str
    #: The leaf.
    leaf: str


@dataclass(kw_only=True)
class Tree(Table):
    """A ``[trees.NAME]`` for the schema: same keys as in files."""

    _nested: ClassVar[dict[str, Any]] = {"node": TreeNode, "rule": TreeRule}

    #: Classes and leaves; the node without a parent is the root.
    node: Sequence[TreeNode]
    #: Name in results. Left out: the table's name.
    name: str | None = None
    #: Rules in one order over all leaves, tried before the leaves' flows.
    rule: Sequence[TreeRule] | None = None
    #: What the tree lacks of the script that it was made from.
    reserve: Sequence[str] | None = None


#: Length of a link in route computation. Every link counts at least 1, so no route has a loop.
Metric: TypeAlias = Literal["hops", "delay", "cost"]


@dataclass(kw_only=True)
class Routing(Table):
    """The table ``routing``."""

    #: Metric of the shortest routes.
    metric: Metric | None = None
    #: Whether flows are spread over all shortest routes (equal-cost multipath), by a hash keyed by the seed.
    #: Default: false.
    spread: bool | None = None


@dataclass(kw_only=True)
class Node(Table):
    """A node of a network without ``[topology]``."""

    #: Name of the node.
    name: str
    #: Whether the node sends and receives. Routers only forward. Default: false.
    host: bool | None = None


#: Class of a link: scenarios set queues by class, and results are summed by class.
LinkClass: TypeAlias = Literal["core", "edge", "host"]


@dataclass(kw_only=True)
class Link(Table):
    """A link of a network without ``[topology]``, both ways."""

    _renamed: ClassVar[dict[str, str]] = {"from_": "from", "class_": "class"}

    #: A node at one end.
    from_: str
    #: The node at the other end.
    to: str
    #: Left out only with a ``link_trace``.
    rate: Rate | None = None
    #: Link trace in place of the rate, both ways: a file with a line for each time in milliseconds at which
    #: the link delivers a full packet, as mahimahi's mm-link reads it, or a model, as in ``wifi stations 5``
    #: or ``lte rate 10mbit``.
    link_trace: str | None = None
    #: Propagation delay: 0 if left out. Default: "0s".
    delay: Time | None = None
    #: Maximum extra delay, drawn evenly for each packet; packets keep their order.
    jitter: Time | None = None
    #: The fraction of packets lost on the wire.
    loss: Share | None = None
    #: Whether the link goes only from ``from`` to ``to``. Default: false.
    one_way: bool | None = None
    #: Link class; by default ``host`` for links from a host, ``edge`` for links to a host, else ``core``.
    class_: LinkClass | None = None


#: Keywords of tc-cake(8) for a kind of link.
#: Examples: "docsis", "pppoe-ptm", "ethernet ether-vlan".
LinkLayer: TypeAlias = str


#: Bytes added to each packet, or taken away.
#: Examples: 38, "38b", -14.
Overhead: TypeAlias = str | int


#: Bytes of a packet.
#: Examples: 1000, "1500b".
PacketBytes: TypeAlias = str | int


#: How a link cuts packets: none, cells of ATM, or the code of PTM.
Framing: TypeAlias = Literal["none", "atm", "ptm"]


#: What each decision costs, 0 to 3600s: a time with its unit, or times by discipline.
#: Examples: "1ms", {"afq": "1ms", "wf2q": "1ms"}.
Decision: TypeAlias = str | Literal[0] | dict[str, str | Literal[0]]


@dataclass(kw_only=True)
class Port(Table):
    """Settings of some links, one way."""

    _renamed: ClassVar[dict[str, str]] = {"from_": "from"}

    #: Node at the start of the links: a name, or a name with ``*``.
    from_: str
    #: Node at the end.
    to: str
    queue: Queue | None = None
    rate: Rate | None = None
    #: Link trace in place of the rate: a file with a line for each time in milliseconds at which the link
    #: delivers a full packet, as mahimahi's mm-link reads it, or a model, as in ``wifi stations 5`` or ``lte
    #: rate 10mbit``.
    link_trace: str | None = None
    delay: Time | None = None
    #: The fraction of packets lost on the wire.
    loss: Share | None = None
    #: Maximum extra delay, drawn evenly for each packet; packets keep their order.
    jitter: Time | None = None
    #: The kind of link, by a keyword of tc-cake(8): sets ``overhead``, ``mpu`` and ``framing``.
    link: LinkLayer | None = None
    #: Bytes that the link adds to each packet: -64 to 65,535.
    overhead: Overhead | None = None
    #: Bytes that each packet takes at least, with overhead: up to 65,535.
    mpu: PacketBytes | None = None
    #: Cells of ATM (53 bytes for each 48) or the code of PTM (65 for each 64).
    framing: Framing | None = None
    #: Cost of the link for routing by cost.
    cost: int | None = None
    #: Time for each decision of the queue, during which the link is idle.
    decision: Decision | None = None


#: The end of a transfer's completion time.
Completion: TypeAlias = Literal["delivered", "acknowledged"]


#: Bytes: a number, or a number with b, kb (1024), mb or gb.
#: Examples: 1000, "150kb".
Bytes: TypeAlias = str | int


@dataclass(kw_only=True)
class Meter(Table):
    """Measurements on request, and counted transfers. Each measurement costs memory and time."""

    #: Each flow over its own life: throughput, reordering, round trips, Bennett and Zhang's ratio, startup
    #: latency; starved flows and ranks. Default: false.
    flows: bool | None = None
    #: B-WFI and T-WFI of each flow and Jain's index while backlogged, at core links, or at edge links if there
    #: is no core. Default: false.
    wfi: bool | None = None
    #: Flows with less than this fraction of their fair share are starved: above 0, below 1. Default: 0.1.
    starved_below: float | None = None
    #: A list of all counted transfers: 104 bytes each. Default: false.
    transfers: bool | None = None
    #: Transfers count if they start at the first of these times or later and before the second; for bursts, so
    #: do the packets' delays. Left out: from the warm-up to the end.
    started: Sequence[Time] | None = None
    #: When a transfer is complete. Default: "delivered".
    complete: Completion | None = None
    #: The largest transfers of each size class in bytes, rising; larger transfers are a class of their own.
    #: Left out: powers of ten.
    sizes: Sequence[Bytes] | None = None
    #: Bytes received by each flow in intervals of this length from time 0 on, and Jain's index in each: from a
    #: millionth of the duration to the whole duration.
    rates: Time | None = None
    #: Links and sources over time, in two hundred steps: utilisation, drops, backlog, throughput, delay.
    #: Default: false.
    over_time: bool | None = None
    #: Packets whose delay is longer are late: results then have the part of the packets that arrive in time.
    #: Left out: none is late.
    late: Time | None = None


#: The figure to optimise.
Measure: TypeAlias = Literal["completion", "completion-by-bytes", "tail", "fairness", "weighted-fairness", "deadline"]


#: What packets say of their urgency.
#: Examples: "priority 3", "slack 1s", "size 1s", "remaining 1s", "fair 100mbit", "deadline 5ms", "cautious 1s 1gbit", "size 1s plus 100s", "fair 100mbit at departure".
Urgency: TypeAlias = str


@dataclass(kw_only=True)
class Objective(Table):
    """The table ``[objective]``, for ``roundelay objective``; runs ignore the table."""

    #: The figure to optimise.
    measure: Measure
    #: The source whose packets and flows count. Left out: all sources.
    source: str | None = None
    #: The slack that all sources write for LSTF: a rule as in ``urgency`` of a source, or "own" for each
    #: source's own urgency. Left out: "size 1s" for completion, "slack 1s" for tail; the others need one:
    #: "fair 10mbit", "deadline 10ms".
    slack: Urgency | None = None
    #: The discipline to compare LSTF with. Left out: sjf for completion, fifo_plus for tail, wf2q_plus for
    #: weighted-fairness, edf for deadline, else packet_fq.
    specialist: Queue | None = None
    #: How much worse than the specialist LSTF may be: a fraction of the specialist's figure, below 1. Default:
    #: 0.05.
    threshold: Share | None = None


OneOrMany: TypeAlias = str | Sequence[str]


#: The rule for pairing senders and receivers.
Pairing: TypeAlias = Literal["each", "all", "random"]


#: Signal rate when packets wait too long again.
Resume: TypeAlias = Literal["rfc8289", "two-less"]


@dataclass(kw_only=True)
class EdgeCodel(Table):
    """Parameters of Edge-CoDel; defaults from UPS (R. Mittal et al., NSDI 2016), section 4.2."""

    #: Target for the time in all queues together: 1 us to 1 hour.
    target: Time | None = None
    #: How long packets may wait longer than ``target``: 1 us to 1 hour.
    interval: Time | None = None
    #: A gap between packets longer than this starts a new interval: more than ``target``, to 1 hour.
    refresh: Time | None = None
    #: Signal rate when packets wait too long again.
    resume: Resume | None = None
    #: Whether packets are marked instead of dropped: needs ``tcp = { ecn = true }``. Default: false.
    mark: bool | None = None


#: A code point of Differentiated Services.
#: Examples: 46, "ef".
CodePoint: TypeAlias = str | int


@dataclass(kw_only=True)
class EverySource(Table):
    """What every source has."""

    _nested: ClassVar[dict[str, Any]] = {"edge_codel": EdgeCodel}
    _renamed: ClassVar[dict[str, str]] = {"from_": "from"}

    #: Sending hosts: a name, a name with ``*`` for any letters, numbered names as in s0..48, or a list of
    #: these.
    from_: OneOrMany
    #: Name in results. Left out: kind and number.
    name: str | None = None
    #: Receiving hosts; none for ``arrivals`` and ``workload``.
    to: OneOrMany | None = None
    #: Which host sends to which.
    pairs: Pairing | None = None
    #: Sources for each pair. Default: 1.
    count: int | None = None
    #: When the first source starts. Default: "0s".
    start: Time | None = None
    #: Time between the starts of consecutive sources. Default: "0s".
    start_step: Time | None = None
    #: Extra delay of each start, drawn evenly from 0 to this. Default: "0s".
    start_jitter: Time | None = None
    #: When all sources stop. Left out: never.
    stop: Time | None = None
    #: Weight of each flow in weighted queues: 1 to 1024.
    weight: int | None = None
    #: Longest packet, for queues that need the maximum length: 512 to 65,536 bytes.
    max_packet_len: PacketBytes | None = None
    #: Urgency written into packets.
    urgency: Urgency | None = None
    #: Edge-CoDel, for sources over TCP: active queue management of each flow where its packets leave the
    #: network.
    edge_codel: EdgeCodel | None = None
    #: Code point of Differentiated Services, which trees may classify by: 0 to 63, or a name like "ef".
    dscp: CodePoint | None = None


#: Gaps between packets.
Gaps: TypeAlias = Literal["even", "random"]


@dataclass(kw_only=True)
class Cbr(EverySource):
    """Packets of one length at a constant rate, with even or random gaps."""

    kind: Literal["cbr"] = field(default="cbr", init=False)
    #: Rate, headers included.
    rate: Rate
    #: Bytes of a packet: 1 to 65,535. Default: 1000.
    packet_len: PacketBytes | None = None
    #: Gaps between packets.
    gaps: Gaps | None = None
    #: Number of packets. Left out: no end.
    packets: int | None = None


#: Lengths of packets.
Lengths: TypeAlias = Literal["fixed", "exponential"]


@dataclass(kw_only=True)
class Poisson(EverySource):
    """Packets with exponential gaps."""

    kind: Literal["poisson"] = field(default="poisson", init=False)
    #: Mean rate, headers included.
    rate: Rate
    #: Bytes of a packet: 1 to 65,535. Default: 1000.
    packet_len: PacketBytes | None = None
    #: Distribution of packet lengths.
    lengths: Lengths | None = None
    #: Lengths with weights, in place of these: [[64, 7], [576, 4], [1500, 1]].
    mix: Sequence[Sequence[int]] | None = None
    #: Number of packets. Left out: no end.
    packets: int | None = None


@dataclass(kw_only=True)
class OnOff(EverySource):
    """A constant rate in on-times, nothing in off-times: Pareto times with a shape, else exponential."""

    kind: Literal["on_off"] = field(default="on_off", init=False)
    #: Rate while on, headers included.
    rate: Rate
    #: Mean on-time: 1 ns to 1 day.
    on: Time
    #: Mean off-time: 1 ns to 1 day.
    off: Time
    #: Bytes of a packet: 1 to 65,535. Default: 1000.
    packet_len: PacketBytes | None = None
    #: Shape of Pareto times: above 1, to 100.
    shape: float | None = None
    #: Number of packets. Left out: no end.
    packets: int | None = None


@dataclass(kw_only=True)
class Voip(EverySource):
    """Speech: fifty packets a second in talkspurts."""

    kind: Literal["voip"] = field(default="voip", init=False)
    #: Bytes of a packet: 1 to 65,535. 200: G.711 with headers. Default: 200.
    packet_len: PacketBytes | None = None
    #: Number of packets. Left out: no end.
    packets: int | None = None


@dataclass(kw_only=True)
class Burst(EverySource):
    """A whole flow at once, as UPS's flows over UDP."""

    kind: Literal["burst"] = field(default="burst", init=False)
    #: Bytes of the flow: 1 to 2^40.
    size: Bytes
    #: Bytes of a packet: 1 to 65,535; the last packet has the rest. Default: 1000.
    packet_len: PacketBytes | None = None


#: A named set of settings.
Preset: TypeAlias = Literal["rfc", "linux", "ns2_newreno", "ns2_tahoe", "ns2_reno"]


#: Detection and repair of losses.
Flavour: TypeAlias = Literal["tahoe", "reno", "newreno", "sack"]


#: Growth and reduction of the window.
Control: TypeAlias = Literal["reno", "cubic", "bbr", "bbr3", "ledbat"]


#: Whether new data goes out in bursts, and who cuts them.
Offload: TypeAlias = Literal["none", "split", "whole"]


#: When the first slow start ends.
SlowStart: TypeAlias = Literal["until_loss", "by_bytes", "hystart++", "hystart"]


@dataclass(kw_only=True)
class Protocol(Table):
    """TCP settings of both ends of a connection."""

    #: The preset.
    preset: Preset | None = None
    #: Loss repair.
    flavour: Flavour | None = None
    #: Window growth.
    control: Control | None = None
    #: The delay that LEDBAT adds to the path: 1 ms to 100 ms.
    ledbat_target: Time | None = None
    #: How fast LEDBAT follows its target: 1 to 10.
    ledbat_gain: int | None = None
    #: Maximum data in a segment: 1 to 65,535 bytes.
    segment_len: PacketBytes | None = None
    #: Initial congestion window in segments: 1 to 1,000,000.
    initial_window: int | None = None
    #: Receive window, from the last acknowledgement, in segments: 1 to 100,000,000.
    receive_window: int | None = None
    #: Whether the receive window begins at 65,535 bytes and grows with what arrives in a round trip, up to
    #: ``receive_window``, as in Linux.
    window_growth: bool | None = None
    #: Minimum retransmission timeout: from 1 us.
    min_timeout: Time | None = None
    #: Retransmission timeout before the first round trip is measured: from ``min_timeout`` to ``max_timeout``.
    initial_timeout: Time | None = None
    #: Maximum retransmission timeout, even after many backoffs: to 1 h.
    max_timeout: Time | None = None
    #: Maximum time that an acknowledgement waits for a second segment, to 500 ms; 0: every segment is
    #: acknowledged.
    delayed_acknowledgement: Time | None = None
    #: Whether segments are acknowledged one by one where Linux does so, though acknowledgements are delayed:
    #: at the start, after a pause, and while its receive window grows.
    quick_acknowledgements: bool | None = None
    #: Whether segments carry timestamps: 12 bytes of each header under ``preset = "rfc"``, under those of ns-2
    #: 10 bytes of the headers of data.
    timestamps: bool | None = None
    #: Whether the first two duplicate acknowledgements let new segments go (RFC 3042).
    limited_transmit: bool | None = None
    #: Whether the difference between a round trip and its mean is kept in 16 bits of ticks, as in ns-2: at its
    #: tick of 1 us, differences beyond 32.767 ms change sign.
    wrap_differences: bool | None = None
    #: Whether SYNs are exchanged before data.
    syn_exchange: bool | None = None
    #: Explicit congestion notification.
    ecn: bool | None = None
    #: Whether segments are spread over the round trip.
    pacing: bool | None = None
    #: Whether new data goes out in bursts of about a millisecond, as with segmentation offload, and whether
    #: these are cut before the queues; with ``flavour = "sack"``.
    offload: Offload | None = None
    #: Whether a sender waits while the queue of its own host holds two bursts of its data, as Linux's do (TCP
    #: small queues).
    small_queue: bool | None = None
    #: When the first slow start ends, if not at a threshold.
    slow_start: SlowStart | None = None
    #: CUBIC: whether its least window always grows by 9/17 of a segment each round trip (RFC 8312), and not by
    #: a segment once it is back at the window before the last loss (RFC 9438).
    constant_friendliness: bool | None = None
    #: Whether the first ten segments of a paced connection leave at once, as in Linux.
    unpaced_start: bool | None = None
    #: CUBIC: whether the window grows by at least a twentieth each round trip before the first loss, as in
    #: Linux.
    least_growth: bool | None = None
    #: Whether a loss leaves a window of whole segments, as in Linux.
    whole_segments: bool | None = None
    #: Whether the window shrinks with what arrives during a repair, with ``flavour = "sack"`` (RFC 9937).
    proportional_reduction: bool | None = None
    #: Whether ``min_timeout`` is the least that a timeout lies above the round trip, as in Linux.
    timeout_above_round_trip: bool | None = None
    #: Whether losses are found by time and not by counting duplicates, with ``flavour = "sack"`` (RACK, RFC
    #: 8985).
    rack: bool | None = None
    #: With ``rack``, whether a probe asks for an acknowledgement before the timeout (TLP, RFC 8985).
    tail_loss_probe: bool | None = None


@dataclass(kw_only=True)
class Tcp(EverySource):
    """A flow over TCP, with a size or without end."""

    _nested: ClassVar[dict[str, Any]] = {**EverySource._nested, "tcp": Protocol}

    kind: Literal["tcp"] = field(default="tcp", init=False)
    #: Bytes of data: 1 to 2^40. Left out: without end.
    size: Bytes | None = None
    #: TCP parameters of both ends.
    tcp: Protocol | None = None


@dataclass(kw_only=True)
class RequestResponse(EverySource):
    """Requests and responses over TCP, with pauses between."""

    _nested: ClassVar[dict[str, Any]] = {**EverySource._nested, "tcp": Protocol}

    kind: Literal["request_response"] = field(default="request_response", init=False)
    #: Bytes of a request: 1 to 2^40.
    request: Bytes
    #: Bytes of a response: 1 to 2^40.
    response: Bytes
    #: Mean of the exponential time from a response to the next request: 1 ns to 1 day.
    think: Time
    #: TCP parameters of both ends.
    tcp: Protocol | None = None


#: What one end of a connection writes: the client (>) or the server (<), how many bytes, and how long after
#: the message before, or by a clock of this period.
#: Examples: "> 300b", "< 14kb after 2ms", "> 300b every 4s", "< endless".
Message: TypeAlias = str


@dataclass(kw_only=True)
class Awaited(Table):
    """A message of another connection."""

    #: The connection, by its place in the list: 0 is the first.
    connection: int
    #: The message, by its place among the connection's: 0 is the first. Left out: the last.
    message: int | None = None


@dataclass(kw_only=True)
class Talk(Table):
    """One connection."""

    _nested: ClassVar[dict[str, Any]] = {"after": Awaited}

    #: What the ends write: "> 300b" by the client, "< 14kb after 2ms" by the server, "> 300b every 4s" by a
    #: clock of this period, "< endless" without end.
    messages: Sequence[Message]
    #: The message that must have arrived whole before the client opens the connection. If that connection is
    #: closed before, this one waits no longer.
    after: Awaited | None = None
    #: When the client opens the connection, counted from the source's start, or from the arrival of the
    #: message in ``after``. Default: "0s".
    start: Time | None = None
    #: Round trip beyond that of the network: 0 to 60 s. The server holds for as long what arrives. Default:
    #: "0s".
    round_trip: Time | None = None
    #: When the client closes the connection, whatever is outstanding, counted from where ``start`` counts.
    #: Left out: it ends with its last message.
    until: Time | None = None
    #: Whether the two ends write without waiting for each other. Default: false.
    concurrent: bool | None = None


@dataclass(kw_only=True)
class Connections(EverySource):
    """Listed TCP connections: what their two applications write, in turn or at once."""

    _nested: ClassVar[dict[str, Any]] = {**EverySource._nested, "connections": Talk, "tcp": Protocol}

    kind: Literal["connections"] = field(default="connections", init=False)
    #: The connections, in any order.
    connections: Sequence[Talk]
    #: TCP parameters of both ends.
    tcp: Protocol | None = None


@dataclass(kw_only=True)
class Video(EverySource):
    """Video over TCP: a segment at even intervals."""

    _nested: ClassVar[dict[str, Any]] = {**EverySource._nested, "tcp": Protocol}

    kind: Literal["video"] = field(default="video", init=False)
    #: Bytes of a segment: 1 to 2^40.
    segment: Bytes
    #: Time between segments: 1 us to 1 day.
    interval: Time
    #: TCP parameters of both ends.
    tcp: Protocol | None = None


@dataclass(kw_only=True)
class WebPage(EverySource):
    """Web pages over TCP: a document, then its objects over parallel connections, with pauses between."""

    _nested: ClassVar[dict[str, Any]] = {**EverySource._nested, "tcp": Protocol}

    kind: Literal["web_page"] = field(default="web_page", init=False)
    #: Bytes of the document: 1 to 2^40.
    document: Bytes
    #: Bytes of an object: 1 to 2^40.
    object: Bytes
    #: Objects of a page: 0 to 10,000.
    objects: int
    #: Mean of the exponential time from a page to the next request: 1 ns to 1 day.
    think: Time
    #: Parallel connections: 1 to 256. Browsers have 6 to a host. Default: 6.
    connections: int | None = None
    #: Bytes of a request: 1 to 2^40. Default: "400b".
    request: Bytes | None = None
    #: TCP parameters of both ends.
    tcp: Protocol | None = None


#: A fraction, or percent in quotes.
Fraction: TypeAlias = float | str


#: Distribution of flow sizes.
SizesSpec: TypeAlias = str | Sequence[Sequence[int | float]]


#: Hosts that send no flows to each other.
Apart: TypeAlias = Literal["host", "router", "core"]


#: Transport of arriving flows.
Transport: TypeAlias = Literal["burst", "tcp"]


@dataclass(kw_only=True)
class Arrivals(EverySource):
    """Flows that arrive at random, between random hosts of ``from``; ``to`` is left out."""

    _nested: ClassVar[dict[str, Any]] = {**EverySource._nested, "tcp": Protocol}

    kind: Literal["arrivals"] = field(default="arrivals", init=False)
    #: Load of each host as a fraction of ``link_rate``: above 0, to 10.
    utilisation: Fraction
    #: The rate of a host's link.
    link_rate: Rate
    #: Distribution of flow sizes.
    sizes: SizesSpec
    #: Whether sizes between the points occur, too. Default: false.
    interpolated: bool | None = None
    #: Hosts that send no flows to each other.
    apart: Apart | None = None
    #: Transport of the flows.
    transport: Transport | None = None
    #: Bytes of a packet of a burst: 1 to 65,535. Default: 1460.
    packet_len: PacketBytes | None = None
    #: TCP parameters of both ends, for flows over TCP.
    tcp: Protocol | None = None


#: Header fields that define a flow of a capture.
FlowBy: TypeAlias = Literal["5tuple", "src", "dst", "dscp"]


#: Packets of a capture: those of the direction with the larger load (auto), all (both), received (in) or sent
#: ones (out), or those from or to an address, a network, a link-layer address or all private addresses.
#: Examples: "both", "to 192.168.1.0/24".
Direction: TypeAlias = str


#: Bytes of the longest IP packet, or none.
#: Examples: 1400, "none".
Mtu: TypeAlias = int | Literal["none"]


@dataclass(kw_only=True)
class Trace(EverySource):
    """A list of packets from a file."""

    kind: Literal["trace"] = field(default="trace", init=False)
    #: Path, relative to the scenario's folder. A list: a line for each packet, in the order of time, with
    #: seconds, bytes and, optionally, seconds of slack, a priority and the second of the deadline. Or a
    #: capture: pcap or pcapng.
    file: str
    #: Header fields that define a flow of a capture.
    flow_by: FlowBy | None = None
    #: Direction of a capture's packets. Left out: auto, the direction with the larger load.
    direction: Direction | None = None
    #: Bytes of the longest IP packet of a capture. Longer ones, as offloading makes them, are split as on the
    #: wire. Left out: 1500.
    mtu: Mtu | None = None


@dataclass(kw_only=True)
class Recorded(EverySource):
    """Flows of packets at listed times, written in the scenario."""

    kind: Literal["recorded"] = field(default="recorded", init=False)
    #: The flows, each a list of packets: a line for each packet, in the order of time, as in the file of a
    #: ``trace``.
    flows: Sequence[str]


@dataclass(kw_only=True)
class Workload(EverySource):
    """A list of flows from a file; ``to`` is left out."""

    _nested: ClassVar[dict[str, Any]] = {**EverySource._nested, "tcp": Protocol}

    kind: Literal["workload"] = field(default="workload", init=False)
    #: Path, relative to the scenario's folder. A line for each flow, in the UPS authors' format: start in
    #: seconds, bytes, source host, destination host.
    file: str
    #: Transport of the flows.
    transport: Transport | None = None
    #: Bytes of a packet of a burst: 1 to 65,535. Default: 1460.
    packet_len: PacketBytes | None = None
    #: TCP parameters of both ends, for flows over TCP.
    tcp: Protocol | None = None


#: A ``[[source]]`` for the schema.
Source: TypeAlias = Cbr | Poisson | OnOff | Voip | Burst | Tcp | RequestResponse | Connections | Video | WebPage | Arrivals | Trace | Recorded | Workload


_SOURCETABLE = Choice("kind", {"cbr": Cbr, "poisson": Poisson, "on_off": OnOff, "voip": Voip, "burst": Burst, "tcp": Tcp, "request_response": RequestResponse, "connections": Connections, "video": Video, "web_page": WebPage, "arrivals": Arrivals, "trace": Trace, "recorded": Recorded, "workload": Workload})


@dataclass(kw_only=True)
class Scenario(TopTable):
    """A scenario: a network, its traffic and its duration."""

    _nested: ClassVar[dict[str, Any]] = {"topology": _TOPOLOGYTABLE, "queue": Queues, "trees": ByName(Tree), "routing": Routing, "node": Node, "link": Link, "port": Port, "meter": Meter, "objective": Objective, "source": _SOURCETABLE}

    #: Length of the run, at most 200 days.
    duration: Time
    #: Name in results. Left out: the file's name.
    name: str | None = None
    #: Seed of all random draws: same seed, same result. Default: 1.
    seed: int | None = None
    #: Seed of the queues' hashes and draws, and of the hash that spreads flows over routes, the same in all
    #: runs. Left out: the seed of each run.
    hash_seed: int | None = None
    #: Warm-up: time at the start not counted in results, less than the duration. Default: "0s".
    warmup: Time | None = None
    #: The network: a template with its parameters, or a file. Left out: [[node]] and [[link]].
    topology: Topology | None = None
    #: Queueing disciplines, by class of links.
    queue: Queues | None = None
    #: Trees of disciplines, for queues set to core = "tree NAME".
    trees: dict[str, Tree] | None = None
    #: Routing of packets.
    routing: Routing | None = None
    #: Nodes, where there is no [topology].
    node: Sequence[Node] | None = None
    #: Links, where there is no [topology].
    link: Sequence[Link] | None = None
    #: Settings of some links, one way.
    port: Sequence[Port] | None = None
    #: Measurements on request.
    meter: Meter | None = None
    #: Objective for ``roundelay objective``; other commands ignore this table.
    objective: Objective | None = None
    #: Sources of traffic.
    source: Sequence[Source] | None = None
