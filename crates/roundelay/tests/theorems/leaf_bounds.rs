//! Delays in leaves with a curve or a rate of their own stay within `leaf_guarantees`, whatever the
//! other leaves send, and come near to it.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay::schedulers::AnyDiscipline;
use roundelay::tree::{Config, Node, Service, hfsc, htb};
use roundelay::{
    DropReason, Duration, FlowId, Instant, LeastService, Limit, Observer, Packet, Port, Rate, Seed,
};

const LINK: u64 = 10_000_000;
const LEN: u32 = 1500;

fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits).expect("not zero")
}

/// The largest delay of each flow's packets.
#[derive(Default)]
struct Delays(Vec<Duration>);

impl Observer<Instant> for Delays {
    fn sent(&mut self, packet: Packet<Instant>, _start: Instant, end: Instant) {
        let most = &mut self.0[packet.flow.index()];
        *most = (*most).max(end.since(packet.payload));
    }

    fn dropped(&mut self, _packet: Packet<Instant>, _now: Instant, reason: DropReason) {
        panic!("a packet was dropped: {reason:?}");
    }
}

/// The leaf that is below a token bucket, which idles while packets wait.
const BEHIND_A_BUCKET: u32 = 2;

/// A tree of leaves, some below a class, and the flow in each leaf.
struct Case {
    tree: Config,
    leaves: u32,
}

impl Case {
    fn new(root: AnyDiscipline, services: &[Service], class: Service) -> Self {
        let node = |name: &str, service| {
            let mut node = Node::new(name, "fifo".parse().expect("legal"));
            node.max_packet_len = LEN;
            node.service = service;
            node
        };
        let mut link = node("link", Service::Shared);
        link.spec.discipline = root.clone();
        let mut tree = Config::new(link).expect("legal");
        let mut inner = node("class", class);
        inner.spec.discipline = root;
        tree.add_class("link", inner).expect("legal");
        for (flow, service) in (0..).zip(services) {
            let parent = if flow % 2 == 0 { "link" } else { "class" };
            let name = format!("leaf {flow}");
            if flow == BEHIND_A_BUCKET {
                let mut bucket = node("bucket", *service);
                let tbf = "tbf rate 2mbit burst 4000b";
                bucket.spec = tbf.parse().expect("legal");
                tree.add_class(parent, bucket).expect("legal");
                let leaf = node(&name, Service::Shared);
                tree.add_leaf("bucket", leaf).expect("legal");
            } else {
                tree.add_leaf(parent, node(&name, *service)).expect("legal");
            }
            tree.assign(FlowId(flow), &name).expect("legal");
            tree.set_default(&name).expect("legal");
        }
        let leaves = services.len() as u32;
        Self { tree, leaves }
    }

    fn service(&self, leaf: u32) -> Option<LeastService> {
        let guarantees = self
            .tree
            .leaf_guarantees(&format!("leaf {leaf}"), rate(LINK));
        guarantees
            .expect("the leaf is there")
            .service
            .map(|service| service.value)
    }

    /// The largest delay of the flow in leaf 0, which sends as much as its bucket allows from
    /// `start` on, beside the floods of the others, which begin at random times and pause.
    fn measured(&self, start: Duration, bucket: (Rate, u64), random: &mut Pcg64) -> Duration {
        let mut arrivals = Vec::new();
        let (fill, burst) = bucket;
        for number in 0..300_u64 {
            let bytes = (number + 1) * u64::from(LEN);
            let at = fill.time_of(bytes.saturating_sub(burst));
            arrivals.push((Instant::ZERO + start + at, 0));
        }
        let end = start + fill.time_of(300 * u64::from(LEN));
        for flow in 1..self.leaves {
            let mut at = Instant::ZERO + Duration::from_millis(random.random_range(0..40));
            while at < Instant::ZERO + end {
                for _ in 0..random.random_range(1..60) {
                    arrivals.push((at, flow));
                }
                at += Duration::from_millis(random.random_range(1..80));
            }
        }
        arrivals.sort_unstable();
        let tree = self
            .tree
            .build_tree::<Instant>(Seed::new(0))
            .expect("legal");
        let mut port = Port::new(tree, Limit::UNBOUNDED, rate(LINK));
        let mut delays = Delays(vec![Duration::ZERO; self.leaves as usize]);
        for (at, flow) in arrivals {
            port.advance(at, &mut delays);
            port.arrive(at, Packet::new(FlowId(flow), LEN, at), &mut delays);
        }
        port.drain(&mut delays);
        delays.0[0]
    }
}

/// Leaf 0 with a curve of either form, and others with curves that leave it room, in most cases.
fn of_hfsc(random: &mut Pcg64) -> Case {
    let leaves = random.random_range(2..6);
    let mut services = Vec::new();
    for _ in 0..leaves {
        let m2 = random.random_range(LINK / 50..LINK / leaves);
        let m1 = random.random_range(0..3) * m2 / 2 + random.random_range(0..m2);
        let curve = hfsc::Curve {
            m1: Rate::from_bits_per_second(m1),
            d: Duration::from_millis(random.random_range(0..60)),
            m2: Some(rate(m2)),
        };
        services.push(Service::Hfsc(hfsc::Class {
            rt: Some(curve),
            ls: Some(hfsc::Curve::line(rate(random.random_range(1..LINK)))),
            ul: None,
        }));
    }
    let class = Service::Hfsc(hfsc::Class {
        rt: None,
        ls: Some(hfsc::Curve::line(rate(LINK / 2))),
        ul: None,
    });
    Case::new(AnyDiscipline::Hfsc(hfsc::Config), &services, class)
}

/// Leaf 0 with the lowest priority, often, and with buckets of random depth.
fn of_htb(random: &mut Pcg64) -> Case {
    let leaves = random.random_range(2..6);
    let mut services = Vec::new();
    for leaf in 0..leaves {
        let mut class = htb::Class::new(rate(random.random_range(LINK / 50..LINK / leaves)));
        class.burst = Some(random.random_range(1..6) * LEN);
        class.prio = random.random_range(0..4);
        if random.random_range(0..2) == 0 {
            class.ceil = Some(rate(LINK));
        }
        class.cburst = class.burst;
        if leaf == 0 {
            class.prio = random.random_range(2..8);
            class.burst = Some(random.random_range(4..40) * LEN);
            class.cburst = class.burst;
        }
        services.push(Service::Htb(class));
    }
    let class = Service::Htb(htb::Class::new(rate(LINK / 4)));
    Case::new(AnyDiscipline::Htb(htb::Config::default()), &services, class)
}

/// Of many cases: how many have a bound, and the largest part of it that was measured.
fn worst(draw: fn(&mut Pcg64) -> Case, cases: u64) -> (u32, f64) {
    let mut bounded = 0;
    let mut worst = 0.0_f64;
    for seed in 0..cases {
        let random = &mut Pcg64::seed_from_u64(seed);
        let case = draw(random);
        let Some(service) = case.service(0) else {
            continue;
        };
        let m2 = service.curve.m2.expect("a rate").bits_per_second();
        // At most the slope, and often close to it.
        let fill = rate((m2 * random.random_range(30..=100) / 100).max(8));
        let burst = u64::from(LEN) * random.random_range(1..80);
        let bound = service
            .delay(fill, burst)
            .expect("the rate is below the slope");
        let start = Duration::from_millis(random.random_range(0..50));
        let measured = case.measured(start, (fill, burst), random);
        assert!(
            measured <= bound,
            "seed {seed}: {measured} measured, bound {bound}, {fill} and {burst} bytes in {service:?}"
        );
        worst = worst.max(measured.as_secs_f64() / bound.as_secs_f64());
        bounded += 1;
    }
    (bounded, worst)
}

/// Half the bound would be broken: the worst case comes near to it.
#[test]
fn delays_of_leaves_stay_within_their_curves() {
    let (bounded, worst) = worst(of_hfsc, 300);
    println!("hfsc: {bounded} cases with a bound, up to {worst:.3} of it");
    assert!(bounded > 100 && worst > 0.8, "{bounded}, {worst}");
}

/// The same for classes of `htb` that are within their rates.
#[test]
fn delays_of_leaves_stay_within_their_rates() {
    let (bounded, worst) = worst(of_htb, 300);
    println!("htb: {bounded} cases with a bound, up to {worst:.3} of it");
    assert!(bounded > 100 && worst > 0.6, "{bounded}, {worst}");
}

/// A bucket too small for what others may send before, curves of more than the link, and rates
/// above the slope have no bound.
#[test]
fn what_is_not_promised_has_no_bound() {
    let of_curves = |curves: &[&str]| {
        let mut services = Vec::new();
        for text in curves {
            services.push(Service::Hfsc(hfsc::Class {
                rt: Some(text.parse().expect("a curve")),
                ..hfsc::Class::default()
            }));
        }
        let class = Service::Hfsc(hfsc::Class {
            ls: Some(hfsc::Curve::line(rate(LINK))),
            ..hfsc::Class::default()
        });
        Case::new(AnyDiscipline::Hfsc(hfsc::Config), &services, class).service(0)
    };
    assert!(of_curves(&["m2 5mbit", "m2 5mbit"]).is_some());
    assert_eq!(of_curves(&["m2 5mbit", "m2 5001kbit"]), None);
    assert_eq!(of_curves(&["m1 8mbit d 5ms m2 1mbit", "m2 3mbit"]), None);
    assert!(of_curves(&["m1 8mbit d 5ms m2 1mbit", "d 5ms m2 9mbit"]).is_some());
    let too_steep = of_curves(&["m1 8mbit d 5ms m2 1mbit", "m1 0bit d 3ms m2 9mbit"]);
    assert_eq!(too_steep, None);
    let of_rates = |own: &str, burst, other: &str| {
        let class = |text: &str, burst| {
            let mut class = htb::Class::new(text.parse().expect("a rate"));
            (class.burst, class.cburst) = (Some(burst), Some(burst));
            Service::Htb(class)
        };
        let services = [class(own, burst), class(other, 3 * LEN)];
        let inner = Service::Htb(htb::Class::new(rate(LINK)));
        Case::new(AnyDiscipline::Htb(htb::Config::default()), &services, inner).service(0)
    };
    // X is 5 packets: the other bucket's three, its last, and the one on the link. B is 2.
    assert!(of_rates("2mbit", 4 * LEN, "5mbit").is_some());
    assert_eq!(of_rates("2mbit", LEN, "5mbit"), None);
    assert_eq!(of_rates("5001kbit", 9 * LEN, "5mbit"), None);
    let service = of_curves(&["m2 5mbit", "m2 5mbit"]).expect("a bound");
    assert_eq!(service.delay(rate(5_000_001), 1500), None);
}

/// The horizontal distance: by hand.
#[test]
fn distances_are_those_of_the_curves() {
    let delay = |text: &str, fill: &str, burst| {
        let curve: hfsc::Curve = text.parse().expect("a curve");
        let late = Duration::ZERO;
        let service = LeastService { curve, late };
        service.delay(fill.parse().expect("a rate"), burst)
    };
    let millis = |millis: u64| Some(Duration::from_millis(millis));
    // 1000 bytes at 1 Mbit/s.
    assert_eq!(delay("m2 1mbit", "1mbit", 1000), millis(8));
    // Within the first piece: 1000 bytes at 8 Mbit/s; 2000 bytes take the second one, too.
    assert_eq!(delay("m1 8mbit d 1ms m2 1mbit", "1mbit", 1000), millis(1));
    assert_eq!(delay("m1 8mbit d 1ms m2 1mbit", "1mbit", 2000), millis(9));
    // Nothing for 5 ms.
    assert_eq!(delay("d 5ms m2 1mbit", "500kbit", 1000), millis(13));
    // The line of 4 Mbit/s is above the first piece of 1 Mbit/s: at its end of 10 ms, which has 10
    // kbit, the line has been for (10 - 2) / 4 = 2 ms.
    assert_eq!(delay("m1 1mbit d 10ms m2 8mbit", "4mbit", 250), millis(8));
}

/// 10 Gbit/s are 9.990 in Linux's fixed point, and here: a flow of 10 Gbit/s beside a flood falls
/// behind a curve of this rate, and has no bound; one of 9.98 has, and keeps it.
#[test]
fn what_fixed_point_takes_is_not_promised() {
    let leaf = |curves: [Option<&str>; 2]| {
        let [rt, ls] = curves.map(|text| text.map(|text| text.parse().expect("a curve")));
        Service::Hfsc(hfsc::Class { rt, ls, ul: None })
    };
    let services = [
        leaf([Some("m2 10gbit"), Some("m2 8bit")]),
        leaf([None, Some("m2 20gbit")]),
    ];
    let class = leaf([None, Some("m2 20gbit")]);
    let case = Case::new(AnyDiscipline::Hfsc(hfsc::Config), &services, class);
    let link = rate(20_000_000_000);
    let guarantees = case.tree.leaf_guarantees("leaf 0", link).expect("a leaf");
    let service = guarantees.service.expect("a curve below the link").value;

    let burst = 20 * u64::from(LEN);
    for (fill, has_bound) in [(rate(10_000_000_000), false), (rate(9_980_000_000), true)] {
        let tree = case
            .tree
            .build_tree::<Instant>(Seed::new(0))
            .expect("legal");
        let mut port = Port::new(tree, Limit::UNBOUNDED, link);
        let mut delays = Delays(vec![Duration::ZERO; 2]);
        for _ in 0..60_000 {
            let flood = Packet::new(FlowId(1), LEN, Instant::ZERO);
            port.arrive(Instant::ZERO, flood, &mut delays);
        }
        for number in 0..20_000_u64 {
            // A burst first, so that the leaf is never idle.
            let bytes = (number * u64::from(LEN)).saturating_sub(burst);
            let at = Instant::ZERO + fill.time_of(bytes);
            port.advance(at, &mut delays);
            port.arrive(at, Packet::new(FlowId(0), LEN, at), &mut delays);
        }
        port.drain(&mut delays);
        let bound = service.delay(fill, burst + u64::from(LEN));
        assert_eq!(bound.is_some(), has_bound, "{fill}");
        // That of an exact curve: the burst at 10 Gbit/s, and a packet on the link.
        let line = rate(10_000_000_000);
        let exact = line.time_of(burst + u64::from(LEN)) + link.time_of(LEN.into());
        let measured = delays.0[0];
        match bound {
            Some(bound) => assert!(measured <= bound, "{measured:?} of {bound:?}"),
            None => assert!(measured > exact, "{measured:?} of {exact:?}"),
        }
    }
}
