//! CUBIC's window in a simulation, compared with the curve of RFC 9438.

use std::sync::mpsc::{Sender as Notes, channel};

use roundelay::Seed;
use roundelay::{Duration, FlowId, Instant};
use roundelay_sim::{
    Agent, Arrival, Content, Context, Direction, FlowSpec, LinkConfig, Network, Outgoing,
    Simulation,
};
use roundelay_tcp::{Config, Receiver, Sender, State};

/// The window in segments after each acknowledgement.
struct Sample {
    now: f64,
    window: f64,
    state: State,
}

/// Both ends of an endless connection; sends window samples to a channel.
struct Watched {
    spec: FlowSpec,
    flow: Option<FlowId>,
    sender: Sender,
    receiver: Receiver,
    notes: Notes<Sample>,
}

impl Watched {
    fn packet(
        &self,
        flow: FlowId,
        direction: Direction,
        segment: roundelay_tcp::Segment,
    ) -> Outgoing {
        let len = segment.wire_len(self.sender.config());
        Outgoing {
            direction,
            content: Content::Segment(segment),
            ..Outgoing::new(flow, len)
        }
    }

    fn send(&mut self, flow: FlowId, context: &mut Context<'_>) {
        while let Some(segment) = self.sender.poll(context.now()) {
            context.send(self.packet(flow, Direction::Forward, segment));
        }
        self.sender
            .timer()
            .into_iter()
            .for_each(|at| context.wake_at(at));
    }
}

impl Agent for Watched {
    fn wake(&mut self, context: &mut Context<'_>) {
        let flow = *self.flow.get_or_insert_with(|| {
            self.sender.open(context.now());
            context.open(self.spec)
        });
        if self
            .sender
            .timer()
            .is_some_and(|timer| timer <= context.now())
        {
            self.sender.on_timer(context.now());
        }
        self.send(flow, context);
    }

    fn arrive(&mut self, arrival: &Arrival, context: &mut Context<'_>) {
        let Content::Segment(segment) = arrival.content else {
            panic!("TCP is all there is")
        };
        let now = context.now();
        if arrival.direction == Direction::Forward {
            if let Some(answer) = self.receiver.on_segment(now, &segment, false) {
                context.send(self.packet(arrival.flow, Direction::Backward, answer));
            }
            return;
        }
        self.sender.on_segment(now, &segment);
        self.send(arrival.flow, context);
        let window = self.sender.window() as f64 / f64::from(self.sender.config().segment_len);
        let sample = Sample {
            now: now.since(Instant::ZERO).as_secs_f64(),
            window,
            state: self.sender.state(),
        };
        self.notes.send(sample).expect("the test hears");
    }
}

/// One minute on a link of 100 Mbit/s with a round trip of 100 ms and a queue of 400 packets.
fn samples(config: Config) -> Vec<Sample> {
    let mut network = Network::default();
    let [from, to] = [network.add_node(), network.add_node()];
    for (from, to) in [(from, to), (to, from)] {
        let (rate, queue) = (
            "100mbit".parse().expect("a rate"),
            "fifo limit 400".parse().expect("a queue"),
        );
        network
            .add_link(LinkConfig::new(
                from,
                to,
                rate,
                Duration::from_millis(50),
                queue,
            ))
            .expect("both ends are there");
    }
    let (notes, heard) = channel();
    let (sender, receiver) = (
        Sender::new(config, None).expect("legal"),
        Receiver::new(config).expect("legal"),
    );
    let watched = Watched {
        spec: FlowSpec {
            from,
            to,
            config: None,
        },
        flow: None,
        sender,
        receiver,
        notes,
    };
    let mut simulation = Simulation::new(network, Seed::new(1)).expect("the queue is legal");
    simulation.spawn(Box::new(watched), Instant::ZERO);
    simulation
        .run(Instant::ZERO + Duration::from_secs(60))
        .expect("the nodes are connected");
    heard.try_iter().collect()
}

/// Parameters of the curve: the window at a loss, reduced if below the window at the loss before
/// (section 4.7), and the window after the repair.
struct Epoch {
    start: f64,
    peak: f64,
    plateau: f64,
}

impl Epoch {
    /// C (t - K)^3 + W_max, with K = cbrt((W_max - cwnd_epoch) / C) and C = 0.4 (RFC 9438, section
    /// 4.2).
    fn new(start: f64, peak: f64, window: f64) -> Self {
        Self {
            start,
            peak,
            plateau: ((peak - window) / 0.4).cbrt(),
        }
    }

    fn at(&self, now: f64) -> f64 {
        0.4 * (now - self.start - self.plateau).powi(3) + self.peak
    }
}

/// Largest difference between window and curve in segments, number of epochs, and number of
/// samples. Prints ten samples a second, with the curve.
fn differences(config: Config) -> (f64, usize, usize) {
    let (mut largest, mut epochs, mut compared, mut printed) = (0.0_f64, 0, 0, 0.0);
    let (mut before, mut peak, mut epoch) = (State::Closed, 0.0, None::<Epoch>);
    let mut last_window = 0.0;
    for Sample { now, window, state } in samples(config) {
        if state == State::Recovery && before != State::Recovery {
            peak = if last_window < peak {
                last_window * 0.85
            } else {
                last_window
            };
            epoch = None;
        } else if state == State::CongestionAvoidance && before == State::Recovery {
            epoch = Some(Epoch::new(now, peak, window));
            epochs += 1;
        }
        if let Some(epoch) = &epoch {
            largest = largest.max((window - epoch.at(now)).abs());
            compared += 1;
        }
        if now >= printed {
            println!(
                "window {now:.2} {window:.1} {}",
                epoch
                    .as_ref()
                    .map_or(String::new(), |epoch| format!("{:.1}", epoch.at(now)))
            );
            printed = now + 0.1;
        }
        (before, last_window) = (state, window);
    }
    println!(
        "largest difference {largest:.2} segments, {compared} acknowledgements in {epochs} epochs"
    );
    (largest, epochs, compared)
}

#[test]
fn the_window_follows_the_curve_in_a_simulation() {
    let cubic = Config {
        delayed_acknowledgement: None,
        ..Config::rfc()
    };
    let (largest, epochs, compared) = differences(cubic);
    assert!(epochs >= 2 && compared > 100_000, "{epochs} {compared}");
    assert!(largest < 1.0, "{largest}");
    let (reno, ..) = differences(Config {
        control: roundelay_tcp::Control::Reno,
        ..cubic
    });
    assert!(reno > 100.0, "Reno has another: {reno}");
}
