//! Examples for the man pages.

/// A command, what one wants of it, and the line that does it.
pub(super) type Example = (&'static str, &'static str, &'static str);

pub(super) const EXAMPLES: &[Example] = &[
    (
        "roundelay",
        "Which queue serves a capture best on 20 Mbit/s?",
        "roundelay compare capture.pcap --rate 20mbit",
    ),
    (
        "roundelay",
        "And which one a simulated network?",
        "roundelay simulate mine.toml --queue fq_codel --queue fifo",
    ),
    (
        "roundelay",
        "Real packets through two queues, in 22 seconds:",
        "roundelay live --demo",
    ),
    (
        "compare",
        "Which queue serves this capture best on 20 Mbit/s?",
        "roundelay compare capture.pcap --rate 20mbit",
    ),
    (
        "compare",
        "Two queues, and a page of charts:",
        "roundelay compare capture.pcap --rate 20mbit 'fq_codel target 10ms' fifo --html \
         report.html",
    ),
    (
        "compare",
        "The same with senders that react to the queue, from a capture of both directions:",
        "roundelay compare both-ways.pcap --rate 20mbit --react fq_codel fifo",
    ),
    (
        "applications",
        "What the applications of a capture wanted, then under cake:",
        "roundelay applications capture.pcap --rate 20mbit > home.toml && roundelay \
         simulate home.toml --queue cake",
    ),
    (
        "simulate",
        "A scenario to begin with:",
        "roundelay simulate --template dumbbell > mine.toml",
    ),
    (
        "simulate",
        "Two queues side by side, with confidence intervals from ten replicas:",
        "roundelay simulate mine.toml --queue fq_codel --queue fifo --replicas 10",
    ),
    (
        "sweep",
        "All combinations of two queues and two rates, into one dataset, which the \
         same command completes after an interruption:",
        "roundelay sweep mine.toml queue.core=fifo,fq_codel topology.rate=5mbit,20mbit --replicas 5",
    ),
    (
        "replay",
        "Could least slack time first keep the schedule of this network?",
        "roundelay replay mine.toml",
    ),
    (
        "objective",
        "Do flows end as early under least slack time first as under the specialist?",
        "roundelay objective mine.toml",
    ),
    (
        "evaluate",
        "What is this queue manager bad at?",
        "roundelay evaluate rfc7928 'fq_codel target 10ms' --html report.html",
    ),
    (
        "plot",
        "Delays of two runs in one chart:",
        "roundelay plot before.json after.json --html both.html",
    ),
    (
        "verify",
        "Could this run have happened in a real network?",
        "roundelay simulate mine.toml --log run.log && roundelay verify run.log",
    ),
    (
        "bench",
        "What a packet costs under two disciplines:",
        "roundelay bench qfq drr",
    ),
    (
        "papers",
        "All tables, figures and theorems, with their verdicts:",
        "roundelay papers",
    ),
    (
        "papers",
        "One of them anew:",
        "roundelay papers mqfq figure-4",
    ),
    (
        "bounds",
        "The worst delays that are proven for the flows of a file:",
        "roundelay bounds flows.toml --rate 10mbit qfq wf2q_plus",
    ),
    (
        "advise",
        "Which rates should the router of a cable line have?",
        "roundelay advise --link docsis --down 100mbit --up 20mbit",
    ),
    (
        "import",
        "What a router's script sets up, on a capture:",
        "roundelay import sqm.sh > wan.toml && roundelay compare capture.pcap --rate 20mbit \
         --tree wan.toml",
    ),
    ("live", "Two queues in 22 seconds:", "roundelay live --demo"),
    (
        "live",
        "A command behind a slow link, recorded, then replayed to the packet:",
        "roundelay live --rate 5mbit --delay 20ms qfq --record run.pcapng -- ping -c 5 \
         {far} && roundelay compare run.pcapng",
    ),
    (
        "live-set",
        "Another rate and another queue, without losing a packet:",
        "roundelay live set --name mine rate 50mbit queue 'fq_codel target 10ms'",
    ),
    ("list", "All disciplines:", "roundelay list"),
    (
        "help",
        "Parameters of a discipline, with ranges and defaults:",
        "roundelay help fq_codel",
    ),
    (
        "man",
        "The page of a command:",
        "roundelay man compare | man -l -",
    ),
    (
        "completions",
        "For bash, of one user:",
        "roundelay completions bash > ~/.local/share/bash-completion/completions/roundelay",
    ),
];
