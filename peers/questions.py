"""Three differences to ns-2 and ns-3, cause by cause: `compare.py questions`, with docs/simulator/validation.md.

Each has the same starts, lengths on the wire, windows, timers and acknowledgements on both sides. One thing changes from line to line. Lines with a control
in Python need the package (`make python` installs it) and are left out without it.
"""

import json
import random
import statistics
import subprocess

try:
    import roundelay
except ImportError:
    roundelay = None

SEEDS = range(1, 9)
# Seconds of a run; results begin at 10 s.
SECONDS, MEASURED = {"episodes": 60, "parking_lot": 110, "codel": 60}, 10
NEWRENO = 'preset = "ns2_newreno", segment_len = 1450'
CUBIC = 'preset = "rfc", delayed_acknowledgement = 0'
# Drops of one episode are less than 0.4 s apart.
APART = 0.4
# An episode in which two flows in step lose one packet each has two drops.
LARGE = 8


class Fractions:
    """Reno that grows by 1/cwnd with each acknowledgement, as ns-2's; a whole segment for each window of acknowledged bytes is RFC 5681's other way."""

    def on_ack(self, feedback):
        segment = feedback.segment_length
        if feedback.window < feedback.threshold:
            return feedback.window + segment
        return feedback.window + segment * segment / feedback.window

    def on_loss(self, feedback):
        return max(feedback.in_flight / 2, 2 * feedback.segment_length)


class Curve:
    """CUBIC without the window of Reno (RFC 9438, section 4.3): its curve alone."""

    def __init__(self):
        self.most, self.begun = 0, None

    def on_ack(self, feedback):
        segment = feedback.segment_length
        if feedback.window < feedback.threshold:
            return feedback.window + min(feedback.acknowledged, segment)
        window = feedback.window / segment
        if self.begun is None:
            self.begun = feedback.now
            self.origin = max(window, self.most)
            self.until_origin = ((self.origin - window) / 0.4) ** (1 / 3)
        time = feedback.now - self.begun + (feedback.smoothed_round_trip or 0)
        target = self.origin + 0.4 * (time - self.until_origin) ** 3
        target = min(max(target, window), 1.5 * window)
        return feedback.window + (target - window) / window * feedback.acknowledged

    def on_loss(self, feedback):
        window = feedback.window / feedback.segment_length
        self.most, self.begun = window * 0.85 if window < self.most else window, None
        return max(feedback.in_flight * 0.7, 2 * feedback.segment_length)


def starts(seed, flows):
    draw = random.Random(seed)
    return sorted(draw.random() for _ in range(flows))


def scenario(seconds, topology, queue, sources, late="0"):
    """A scenario in which hosts' links delay each packet by up to `late`."""
    lines = [f'duration = "{seconds}s"', f'warmup = "{MEASURED}s"', "[topology]", *topology]
    lines += ["[queue]", f'core = "{queue}"', 'edge = "fifo limit 100000"']
    lines += ["[[port]]", 'from = "s*"', 'to = "*"', f'jitter = "{late}"'] if late != "0" else []
    for place, (start, rest) in enumerate(sources):
        lines += ["[[source]]", f'name = "{place}"', f'start = "{start:.9f}s"', *rest]
    return "\n".join(lines) + "\n"


def bulk(number, ends, tcp):
    return [f'from = "s{number}"', f'to = "{ends}{number}"', 'kind = "tcp"', f"tcp = {{ {tcp} }}"]


def dumbbell(seconds, seed, flows, tcp, queue, access="100mbit", delay="12ms", late="0"):
    topology = ['template = "dumbbell"', f"pairs = {flows}", 'rate = "10mbit"', f'delay = "{delay}"']
    topology += [f'access_rate = "{access}"', 'access_delay = "1ms"']
    sources = [(start, bulk(number, "r", tcp)) for number, start in enumerate(starts(seed, flows))]
    return scenario(seconds, topology, queue, sources, late)


def drops_of(program, folder, text):
    """Times of drops in a run of this scenario, in seconds."""
    path = folder / "scenario.toml"
    path.write_text(text)
    command = [program, "simulate", path, "--log", folder / "run.log", "--threads", "1", "-q"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with open(folder / "run.log") as lines:
        times = [json.loads(line)["time"] / 1e12 for line in lines if '"event":"drop"' in line]
    (folder / "run.log").unlink()
    return times


def groups_of(program, folder, text):
    path = folder / "scenario.toml"
    path.write_text(text)
    command = [program, "simulate", path, "--json", "--threads", "1", "-q"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(printed)["summary"]["groups"]


def sent_again(folder, text, control):
    """Retransmissions of a run with a control in Python, from 10 s on."""
    path = folder / "scenario.toml"
    path.write_text(text)
    return roundelay.simulate(str(path), congestion=control).to_dict()["replicas"][0]["groups"][-1]["retransmissions"]


def ns2(root, folder, shape, seconds, seed, flows, limit, access, delay, late):
    """Packets of each flow from 10 s on, and times of drops."""
    (folder / "starts.txt").write_text("".join(f"{start:.9f}\n" for start in starts(seed, flows)))
    words = [shape, seconds, folder / "starts.txt", limit, access, delay, late, folder / "drops.txt"]
    command = ["ns", root / "peers/questions.tcl", *words]
    printed = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout
    drops = [float(line.split()[1]) for line in (folder / "drops.txt").read_text().splitlines() if line.startswith("d")]
    return [int(word) for word in printed.split()], drops


def ns3(program, folder, kind, settings, seed):
    """Times of drops."""
    (folder / "starts.txt").write_text("".join(f"{start:.9f}\n" for start in starts(seed, 3)))
    command = [program, "codel", kind, SECONDS["codel"], folder / "starts.txt", *settings]
    printed = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout
    line = next(line for line in printed.splitlines() if line.startswith("drops"))
    return [float(word) for word in line.split()[1:]]


def sizes(drops):
    """Drops of each episode from 10 s on."""
    episodes, last = [], None
    for time in drops:
        if time < MEASURED:
            continue
        if last is None or time - last >= APART:
            episodes.append(0)
        episodes[-1] += 1
        last = time
    return episodes


def told_episodes(runs):
    """Seeds with a large episode, the drops of the largest one, and drops of a run."""
    episodes = [sizes(drops) for drops in runs]
    seeds = sum(any(size >= LARGE for size in run) for run in episodes)
    return [f"{seeds} of {len(runs)}", max(max(run) for run in episodes), f"{statistics.mean(map(sum, episodes)):.0f}"]


def mean(values):
    return f"{statistics.mean(values):.0f} ± {statistics.stdev(values):.0f}"


def median(values):
    """Some of ns-3's runs are far from all others, so a mean would tell of these alone."""
    return f"{statistics.median(values):.0f} ({min(values)} to {max(values)})"


def episodes(program, root, names, folder):
    seconds = SECONDS["episodes"]
    rows = [["", "ours: seeds", "largest", "drops", "ns-2: seeds", "largest", "drops"]]
    cases = [
        ("hosts 100 Mbit/s, 28 ms", "100mbit", "12ms", 0),
        ("hosts 20 Mbit/s, 28 ms", "20mbit", "12ms", 0),
        ("hosts 20 Mbit/s, 29.6 ms", "20mbit", "12.8ms", 0),
        ("hosts 20 Mbit/s, 31.6 ms", "20mbit", "13.8ms", 0),
        ("hosts 20 Mbit/s, 32 ms", "20mbit", "14ms", 0),
        ("hosts 20 Mbit/s, 32.8 ms", "20mbit", "14.4ms", 0),
        ("hosts 20 Mbit/s, 32 ms, each packet up to 1.2 ms late", "20mbit", "14ms", 1200),
    ]
    for name, access, delay, late in cases:
        texts = [dumbbell(seconds, seed, 2, NEWRENO, "fifo limit 40", access, delay, f"{late}us" if late else "0") for seed in SEEDS]
        ours = told_episodes([drops_of(program, folder, text) for text in texts])
        theirs = ["", "", ""]
        if "ns-2" in names:
            rate = access.replace("mbit", "Mb")
            theirs = told_episodes([ns2(root, folder, "dumbbell", seconds, seed, 2, 40, rate, delay, late / 1e6)[1] for seed in SEEDS])
        rows.append([name, *ours, *theirs])
    if roundelay:
        texts = [dumbbell(seconds, seed, 2, NEWRENO, "fifo limit 40", "20mbit", "14ms") for seed in SEEDS]
        repeated = [sent_again(folder, text, Fractions) for text in texts]
        rows.append(["hosts 20 Mbit/s, 32 ms, a window that grows by 1/cwnd: segments sent again", "", "", f"{statistics.mean(repeated):.0f}", "", "", ""])
    return rows


def parking_lot(program, root, names, folder):
    seconds = SECONDS["parking_lot"]
    rows = [["", "ours: long", "short", "ns-2: long", "short"]]
    topology = ['template = "parking_lot"', "hops = 3", 'rate = "10mbit"', 'delay = "10ms"', 'access_rate = "100mbit"', 'access_delay = "1ms"']
    for limit in (20, 40):
        for late in (0, 1200, 3000):
            ours, theirs = [], []
            for seed in SEEDS:
                sources = [(start, bulk(number, "k", NEWRENO)) for number, start in enumerate(starts(seed, 4))]
                text = scenario(seconds, topology, f"fifo limit {limit}", sources, f"{late}us" if late else "0")
                ours.append([group["throughput"]["mean"] / 8 / 1500 for group in groups_of(program, folder, text)[:4]])
                if "ns-2" in names:
                    packets, _ = ns2(root, folder, "parking_lot", seconds, seed, 4, limit, "100Mb", "10ms", late / 1e6)
                    theirs.append([count / (seconds - MEASURED) for count in packets])
            name = f"fifo limit {limit}" + (f", each packet up to {late / 1000:g} ms late" if late else "")
            cells = [mean([f(run) for run in runs]) if runs else "" for runs in (ours, theirs) for f in (lambda run: run[0], lambda run: statistics.mean(run[1:]))]
            rows.append([name, *cells])
    return rows


def codel(program, ns3_program, names, folder):
    seconds = SECONDS["codel"]
    theirs = ["ns3::TcpSocket::DelAckCount=1", "ns3::TcpSocketBase::MinRto=1s", "ns3::TcpSocket::InitialCwnd=10"]
    cubic = [*theirs, "ns3::TcpL4Protocol::SocketType=ns3::TcpCubic"]
    newreno = [*theirs, "ns3::TcpL4Protocol::SocketType=ns3::TcpNewReno"]
    constant = scenario_of_constant_rates(seconds)
    cases = [
        ("4 Mbit/s each, over UDP", constant, ("cbr", [])),
        ("NewReno with SACK", lambda seed: dumbbell(seconds, seed, 3, f'{CUBIC}, control = "reno"', "codel"), ("tcp", newreno)),
        ("CUBIC", lambda seed: dumbbell(seconds, seed, 3, CUBIC, "codel"), ("tcp", [*cubic, "ns3::TcpCubic::HyStart=false"])),
        ("CUBIC, ours with RACK and PRR", lambda seed: dumbbell(seconds, seed, 3, f"{CUBIC}, rack = true, proportional_reduction = true", "codel"), None),
        ("CUBIC with HyStart", lambda seed: dumbbell(seconds, seed, 3, f'{CUBIC}, slow_start = "hystart"', "codel"), ("tcp", cubic)),
    ]
    rows = [["", "ours: 0 to 5 s", "10 to 60 s", "ns-3: 0 to 5 s", "10 to 60 s"]]
    for name, text, peer in cases:
        ours = [drops_of(program, folder, text(seed)) for seed in SEEDS]
        runs = [ns3(ns3_program, folder, *peer, seed) for seed in SEEDS] if peer and "ns-3" in names else []
        rows.append([name, *told_drops(ours), *told_drops(runs)])
    if roundelay:
        texts = [dumbbell(seconds, seed, 3, f'{CUBIC}, slow_start = "hystart"', "codel") for seed in SEEDS]
        rows.append(["CUBIC's curve alone: segments sent again", "", median([sent_again(folder, text, Curve) for text in texts]), "", ""])
    return rows


def scenario_of_constant_rates(seconds):
    topology = ['template = "dumbbell"', "pairs = 3", 'rate = "10mbit"', 'delay = "12ms"', 'access_rate = "100mbit"', 'access_delay = "1ms"']
    steady = ['kind = "cbr"', 'rate = "4mbit"', "packet_len = 1460"]

    def text(seed):
        sources = [(start, [f'from = "s{number}"', f'to = "r{number}"', *steady]) for number, start in enumerate(starts(seed, 3))]
        return scenario(seconds, topology, "codel", sources)

    return text


def told_drops(runs):
    if not runs:
        return ["", ""]
    early = [sum(time < 5 for time in drops) for drops in runs]
    late = [sum(time >= MEASURED for time in drops) for drops in runs]
    return [median(early), median(late)]


def questions(program, root, ns3_program, names, folder):
    """Titles and tables."""
    yield "Two flows of NewReno, fifo limit 40, 60 s: seeds with an episode of 8 drops or more, the largest episode, drops of a run", episodes(program, root, names, folder)
    yield "Parking lot of three hops, NewReno, 100 s: packets a second of the long flow and of a short one", parking_lot(program, root, names, folder)
    yield "CoDel, 10 Mbit/s, 28 ms, three flows: drops, median, least and most", codel(program, ns3_program, names, folder)
