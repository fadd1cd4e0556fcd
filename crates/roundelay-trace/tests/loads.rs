//! The right load, from captures that a comparison has to mend: a call beside a bulk flow, in the
//! wrapping that public reports of other projects are about.

use crate::common::load::*;
use crate::common::*;
use roundelay_trace::{FlowBy, Kind, Options, Span};

/// A pcap in nanoseconds that keeps 100 bytes of each packet.
fn file(samples: &[Sample]) -> Vec<u8> {
    let mut bytes = pcap(Little, NANOS, (2, 4), 100, ETHERNET);
    for (at, frame) in samples {
        let kept = &frame[..frame.len().min(100)];
        let [seconds, nanos] = [at / 1_000_000_000, at % 1_000_000_000].map(|part| part as u32);
        let [captured, len] = [kept.len(), frame.len()].map(|len| len as u32);
        bytes.extend(record_header(
            Little,
            1_700_000_000 + seconds,
            nanos,
            captured,
            len,
        ));
        bytes.extend(kept);
    }
    bytes
}

/// The call's p99 in milliseconds under each discipline, with the packets and the tenths of a
/// second of the capture.
fn answer(bytes: Vec<u8>) -> (Vec<f64>, u64, f64) {
    let comparison = replayed(bytes, &mending()).unwrap();
    let kinds = comparison.flows_of(Kind::Call);
    let [call] = kinds[..] else {
        panic!("one call: {:?}", comparison.flows);
    };
    let mut waits = Vec::new();
    for result in &comparison.disciplines {
        let p99 = result.flows[call].outcome.delay.unwrap().p99;
        waits.push((p99 * 1e4).round() / 10.0);
    }
    let capture = &comparison.capture;
    (
        waits,
        capture.packets,
        (capture.seconds * 10.0).round() / 10.0,
    )
}

#[test]
fn a_capture_behind_another_of_the_same_time_is_put_in_order() {
    let right = answer(file(&both(10)));
    let appended = [bulk(10), call(10)].concat();
    assert_eq!(answer(file(&appended)), right);
    let comparison = replayed(file(&appended), &mending()).unwrap();
    // All packets of the call but the last few, which come behind the last burst.
    assert!(comparison.observed.oddities.sorted >= 490);
    assert_eq!(comparison.observed.oddities.backward_steps, 0);
    // As it is in the file the clock stands still, and the load is another.
    let mut as_it_is = mending();
    as_it_is.adapts = false;
    let wrong = replayed(file(&appended), &as_it_is).unwrap();
    assert!(wrong.capture.seconds > 19.0, "{}", wrong.capture.seconds);
}

#[test]
fn one_time_from_the_future_does_not_move_the_others() {
    let right = answer(file(&both(3)));
    let mut samples = both(3);
    let middle = samples.len() / 2;
    samples[middle].0 += 5_000 * MILLI;
    let (waits, packets, seconds) = answer(file(&samples));
    assert_eq!((packets, seconds), (right.1, right.2));
    for (wait, right) in waits.iter().zip(&right.0) {
        assert!((wait - right).abs() <= right / 20.0, "{waits:?}");
    }
    let comparison = replayed(file(&samples), &mending()).unwrap();
    assert_eq!(comparison.observed.oddities.strays, 1);
}

#[test]
fn a_frame_cut_with_its_length_has_the_length_of_its_packet() {
    let right = answer(file(&both(3)));
    let mut samples = both(3);
    for (_, frame) in &mut samples {
        frame.truncate(96);
    }
    assert_eq!(answer(file(&samples)), right);
    let comparison = replayed(file(&samples), &mending()).unwrap();
    assert_eq!(comparison.observed.oddities.uncut, right.1);
}

/// Regression: offloaded frames of 64 KB delayed a call by 63 ms under every discipline, and
/// "nothing contends" was the answer.
#[test]
fn offloaded_frames_are_split_as_on_the_wire() {
    let mut samples = call(3);
    for number in 0..35 {
        let frame = ethernet(0x0800, &segment(64_000, number));
        samples.push((number as u64 * 85_000_000, frame));
    }
    let (waits, packets, _) = answer(file(&sorted(samples.clone())));
    // 64,000 bytes of data are 44 packets of 1460 or fewer.
    assert_eq!(packets, 150 + 35 * 44);
    assert!(
        waits[0] > 50.0 && waits[1] < 3.2 && waits[2] < 3.2,
        "{waits:?}"
    );
    let comparison = replayed(file(&sorted(samples.clone())), &mending()).unwrap();
    let headers = 54 * 44;
    assert_eq!(
        comparison.capture.bytes,
        150 * 214 + 35 * (64_000 + headers)
    );
    assert_eq!(comparison.capture.longest_packet, 1514);
    let whole = Options {
        mtu: None,
        ..mending()
    };
    let comparison = replayed(file(&sorted(samples)), &whole).unwrap();
    assert_eq!(comparison.capture.packets, 150 + 35);
}

#[test]
fn a_part_of_the_time_is_replayed() {
    let of = |span: Span| {
        let options = Options { span, ..mending() };
        let comparison = replayed(file(&call(10)), &options).unwrap();
        let part = comparison.observed.part.unwrap();
        (comparison.capture.packets, part.from, part.to)
    };
    let time = |text: &str| Some(roundelay_trace::parse_time(text).unwrap());
    let between = Span {
        from: time("2s"),
        to: time("5s"),
        ..Span::default()
    };
    assert_eq!(of(between), (150, 2.0, Some(5.0)));
    let from = Span {
        from: time("9s"),
        ..Span::default()
    };
    assert_eq!(of(from), (50, 9.0, None));
    // The busiest second is that with bulk.
    let mut samples = call(10);
    for (at, frame) in bulk(1) {
        samples.push((at + 4_000 * MILLI, frame));
    }
    let busiest = Span {
        busiest: time("1s"),
        ..Span::default()
    };
    let options = Options {
        span: busiest,
        ..mending()
    };
    let comparison = replayed(file(&sorted(samples)), &options).unwrap();
    let part = comparison.observed.part.unwrap();
    assert!((3.9..4.1).contains(&part.from), "{part:?}");
    assert!(comparison.capture.packets > 500);
    let beyond = Span {
        from: time("11s"),
        ..Span::default()
    };
    let options = Options {
        span: beyond,
        ..mending()
    };
    let error = replayed(file(&call(10)), &options).unwrap_err().to_string();
    assert!(
        error.contains("(--from, --to) matches none of 500 packets"),
        "{error}"
    );
    let nothing = Span {
        from: time("5s"),
        to: time("5s"),
        ..Span::default()
    };
    let options = Options {
        span: nothing,
        ..mending()
    };
    let error = replayed(file(&call(10)), &options).unwrap_err().to_string();
    assert!(
        error.contains("; --to is not later than --from; "),
        "{error}"
    );
}

/// Regression: two weeks were headed 46836 s, because silences were cut to an hour.
#[test]
fn rates_of_two_weeks_are_over_two_weeks() {
    let mut bytes = pcap(Little, NANOS, (2, 4), 100, ETHERNET);
    for day in 0..14_u32 {
        let frame = ethernet(0x0800, &segment(100, day as usize));
        bytes.extend(record(Little, 1_700_000_000 + day * 86_400, 0, &frame));
    }
    let comparison = replayed(bytes, &mending()).unwrap();
    assert_eq!(comparison.capture.seconds, 13.0 * 86_400.0);
    let result = &comparison.disciplines[0];
    assert!(result.total.throughput < 1.0, "{}", result.total.throughput);
}

/// The same packets, each inside of another one.
fn wrapped(wrap: impl Fn(usize, &[u8]) -> Vec<u8>) -> Vec<u8> {
    let mut samples = both(3);
    for (number, (_, frame)) in samples.iter_mut().enumerate() {
        *frame = ethernet(0x0800, &numbered(wrap(number, &frame[14..]), number));
    }
    file(&samples)
}

fn labels(bytes: Vec<u8>, by: &str) -> Vec<String> {
    let options = Options {
        flow_by: by.parse().unwrap(),
        ..mending()
    };
    let comparison = replayed(bytes, &options).unwrap();
    let mut labels = Vec::new();
    for flow in &comparison.flows {
        labels.push(flow.label.clone());
    }
    labels.sort();
    labels
}

/// Regression: a call and a bulk flow in a tunnel were one flow under every discipline, where
/// Linux's fq_codel tells them apart.
#[test]
fn flows_in_tunnels_are_told_apart_as_by_linux() {
    let inside = [
        "tcp 192.168.7.1:40000 > 192.168.7.2:9000",
        "udp 192.168.7.1:5004 > 192.168.7.2:5006",
    ];
    let gre = |flags: u8, fields: usize, kind: u16, before: usize| {
        wrapped(move |_, packet| {
            let header = [&[flags, 0][..], &kind.to_be_bytes(), &vec![0; fields]].concat();
            let mut link = vec![2; before];
            if before > 0 {
                link.splice(before - 2.., [8, 0]);
            }
            ipv4(47, NEAR, FAR, &[&header, &link, packet].concat())
        })
    };
    let bridged = gre(0, 0, 0x6558, 14);
    let ip_in_ip = wrapped(|_, packet| ipv4(4, NEAR, FAR, packet));
    for (what, bytes) in [
        ("GRE", gre(0, 0, 0x0800, 0)),
        (
            "GRE with a key, a sequence number and a checksum",
            gre(0xb0, 12, 0x0800, 0),
        ),
        ("Ethernet over GRE", bridged),
        ("IP in IP", ip_in_ip.clone()),
    ] {
        assert_eq!(labels(bytes.clone(), "5tuple"), inside, "{what}");
        let (waits, packets, _) = answer(bytes);
        assert_eq!(packets, 150 + 1545, "{what}");
        assert!(
            waits[0] > 40.0 && waits[1] < 3.0 && waits[2] < 3.5,
            "{what}: {waits:?}"
        );
    }
    assert_eq!(
        labels(ip_in_ip.clone(), "outer"),
        ["ipip 10.0.0.1 > 10.0.0.2"]
    );
    // Regression: taken for tunnels that nobody can look into, these were not counted.
    let outer = Options {
        flow_by: FlowBy::Outer,
        ..mending()
    };
    let comparison = replayed(ip_in_ip, &outer).unwrap();
    assert_eq!(comparison.observed.tunnels, [1.0, 0.0, 0.0, 0.0, 0.0]);
    let esp = wrapped(|number, packet| {
        let index = if packet[9] == UDP { 1_u32 } else { 0x0002_0003 };
        let header = [index.to_be_bytes(), (number as u32).to_be_bytes()].concat();
        ipv4(
            50,
            NEAR,
            FAR,
            &[&header, &vec![0; packet.len() + 20][..]].concat(),
        )
    });
    let by_index = [
        "esp 10.0.0.1 > 10.0.0.2 SPI 0x1",
        "esp 10.0.0.1 > 10.0.0.2 SPI 0x20003",
    ];
    assert_eq!(labels(esp.clone(), "5tuple"), by_index);
    let comparison = replayed(esp, &mending()).unwrap();
    assert_eq!(comparison.observed.tunnels, [0.0, 1.0, 0.0, 0.0, 0.0]);
}

/// IPv6 inside of IPv4 (6in4), and PPTP's GRE with and without PPP's address and an
/// acknowledgement.
#[test]
fn flows_in_6in4_and_pptp_are_told_apart() {
    let six = wrapped(|_, packet| {
        let inner = ipv6(0, packet[9], v6(1), v6(2), &packet[20..]);
        ipv4(41, NEAR, FAR, &inner)
    });
    let inside = [
        "tcp [2001:db8::1]:40000 > [2001:db8::2]:9000",
        "udp [2001:db8::1]:5004 > [2001:db8::2]:5006",
    ];
    assert_eq!(labels(six.clone(), "5tuple"), inside);
    let comparison = replayed(six, &mending()).unwrap();
    assert_eq!(comparison.observed.tunnels, [1.0, 0.0, 0.0, 0.0, 0.0]);

    let inside = [
        "tcp 192.168.7.1:40000 > 192.168.7.2:9000",
        "udp 192.168.7.1:5004 > 192.168.7.2:5006",
    ];
    let acknowledging = [0x30, 0x81, 0x88, 0x0b, 0, 9, 0, 7, 0, 0, 0, 1, 0, 0, 0, 1];
    let plain = [0x30, 0x01, 0x88, 0x0b, 0, 9, 0, 7, 0, 0, 0, 1];
    for (header, ppp) in [
        (&acknowledging[..], &[0xff, 0x03, 0x00, 0x21][..]),
        (&plain, &[0x00, 0x21]),
    ] {
        let pptp = wrapped(|_, packet| ipv4(47, NEAR, FAR, &[header, ppp, packet].concat()));
        assert_eq!(labels(pptp, "5tuple"), inside, "{ppp:?}");
    }
    // What is not IP stays a flow of the tunnel.
    let lcp =
        wrapped(|_, packet| ipv4(47, NEAR, FAR, &[&plain[..], &[0xc0, 0x21], packet].concat()));
    assert_eq!(labels(lcp, "5tuple"), ["gre 10.0.0.1 > 10.0.0.2"]);
}

/// What is inside of WireGuard cannot be read: one flow, and its part is told.
#[test]
fn wireguard_is_one_flow_and_counted() {
    let tunnel = wrapped(|_, packet| {
        let payload = [&ports(4000, 51_820)[..], &[4; 16], packet].concat();
        ipv4(UDP, NEAR, FAR, &payload)
    });
    let flow = ["udp 10.0.0.1:4000 > 10.0.0.2:51820"];
    assert_eq!(labels(tunnel.clone(), "5tuple"), flow);
    assert_eq!(labels(tunnel.clone(), "inner"), flow);
    let comparison = replayed(tunnel, &mending()).unwrap();
    assert_eq!(comparison.observed.tunnels, [0.0, 0.0, 0.0, 1.0, 0.0]);
}

/// Packets whose place lies before more packets than 256 MB hold: the capture is refused, with the
/// command that sorts it.
#[test]
fn packets_too_far_out_of_order_are_refused() {
    let frame = ethernet(0x0800, &segment(0, 1));
    let later = |count: u32| {
        let mut bytes = pcap(Little, NANOS, (2, 4), 100, ETHERNET);
        for number in 0..count {
            bytes.extend(record(Little, 1_700_000_100, number, &frame));
        }
        for number in 0..20 {
            bytes.extend(record(Little, 1_700_000_040, number, &frame));
        }
        bytes
    };
    assert_eq!(
        replayed(later(1000), &mending()).unwrap().capture.packets,
        1020
    );
    let error = replayed(later(1_300_000), &mending())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("t.pcap: times step back by 60 s, past 1300")
            && error.contains("(256 MB)")
            && error.ends_with("sort the capture first: reordercap t.pcap sorted.pcapng"),
        "{error}"
    );
}

#[test]
fn tunnels_over_udp_are_looked_into_on_request() {
    let inside = [
        "tcp 192.168.7.1:40000 > 192.168.7.2:9000",
        "udp 192.168.7.1:5004 > 192.168.7.2:5006",
    ];
    let over_udp = |port: u16, header: Vec<u8>| {
        wrapped(move |_, packet| {
            let payload = [&ports(4000, port)[..], &header, packet].concat();
            ipv4(UDP, NEAR, FAR, &payload)
        })
    };
    let frame = [&[2; 12][..], &[8, 0]].concat();
    let vxlan = [&[8, 0, 0, 0, 0, 0, 7, 0][..], &frame].concat();
    let geneve = [&[1, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 2, 3, 4][..], &frame].concat();
    let gtp = vec![0x34, 255, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0x85, 1, 0, 9, 0];
    for (what, port, header) in [
        ("VXLAN", 4789, vxlan),
        ("Geneve", 6081, geneve),
        ("GTP-U with an extension header", 2152, gtp),
    ] {
        let bytes = over_udp(port, header);
        assert_eq!(labels(bytes.clone(), "inner"), inside, "{what}");
        let outer = format!("udp 10.0.0.1:4000 > 10.0.0.2:{port}");
        assert_eq!(labels(bytes, "5tuple"), [outer], "{what}");
    }
    // A header that promises more than there is leaves the outer flow.
    let cut = over_udp(2152, vec![0x34, 255, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0x85, 0]);
    assert_eq!(labels(cut, "inner"), ["udp 10.0.0.1:4000 > 10.0.0.2:2152"]);
}

/// Regression: all packets cut before the ports shared one flow.
#[test]
fn packets_cut_before_the_ports_have_flows_by_addresses() {
    let mut bytes = pcap(Little, NANOS, (2, 4), 34, ETHERNET);
    for number in 0..10 {
        let frame = ethernet(0x0800, &segment(100, number));
        let mut other = frame.clone();
        other[33] = 9;
        for frame in [frame, other] {
            bytes.extend(record_header(
                Little,
                1_700_000_000,
                number as u32,
                34,
                frame.len() as u32,
            ));
            bytes.extend(&frame[..34]);
        }
    }
    let flows = [
        "tcp 192.168.7.1 > 192.168.7.2",
        "tcp 192.168.7.1 > 192.168.7.9",
    ];
    assert_eq!(labels(bytes.clone(), "5tuple"), flows);
    let comparison = replayed(bytes, &mending()).unwrap();
    assert_eq!(comparison.observed.unparsable.no_ports, 20);
}

/// Regression: a clock set back by NTP put one half of a capture onto the other, 128.7% of the link.
#[test]
fn a_clock_that_was_set_back_is_told_from_an_appended_capture() {
    let right = answer(file(&both(10)));
    for step in [4, 9, 3600] {
        let mut samples = both(10);
        let half = samples.len() / 2;
        for (at, _) in &mut samples[..half] {
            *at += step * 1_000_000_000;
        }
        let comparison = replayed(file(&samples), &mending()).unwrap();
        let oddities = comparison.observed.oddities;
        assert_eq!((oddities.set_back, oddities.sorted), (1, 0), "{step} s");
        let (waits, packets, seconds) = answer(file(&samples));
        assert_eq!((waits, packets), (right.0.clone(), right.1));
        assert!((seconds - right.2).abs() < 0.2, "{seconds}");
    }
    // Regression: set right again later, the clock was taken for one that is behind.
    let mut samples = both(10);
    let third = samples.len() / 3;
    for (at, _) in &mut samples[third..2 * third] {
        *at = at.saturating_sub(3_000_000_000);
    }
    let comparison = replayed(file(&samples), &mending()).unwrap();
    let oddities = comparison.observed.oddities;
    assert_eq!((oddities.set_back, oddities.sorted), (1, 0));
    let (waits, packets, seconds) = answer(file(&samples));
    assert_eq!((waits, packets), (right.0.clone(), right.1));
    assert!((seconds - right.2).abs() < 0.2, "{seconds}");
    // A silence of another length stays one.
    for (at, _) in &mut samples[2 * third..] {
        *at += 1_000_000_000;
    }
    let (_, _, seconds) = answer(file(&samples));
    assert!((seconds - right.2 - 4.0).abs() < 0.2, "{seconds}");
    // The same capture again is put in order, as its connections begin anew.
    let again = replayed(file(&[both(10), both(10)].concat()), &mending()).unwrap();
    assert_eq!(again.observed.oddities.set_back, 0);
    assert!(again.observed.oddities.sorted > 5000);
}

/// A download in bursts of ten segments, each second one acknowledged, with timestamps of
/// milliseconds if any.
fn download(seconds: usize, has_timestamps: bool) -> Vec<Sample> {
    let mut samples = Vec::new();
    for number in 0..seconds * 500 {
        let at = (number / 10) as u64 * 20 * MILLI + number as u64 % 10 * 12_000;
        let behind = (number as u32 + 1) * 1400;
        let way = (CALLED, CALLER, 1000);
        let data = timed(
            (CALLER, CALLED, number as u32 * 1400),
            1,
            at,
            has_timestamps,
            1400,
        );
        samples.push((at, ethernet(0x0800, &numbered(data, number))));
        if number % 2 == 1 {
            let at = at + 300_000;
            let packet = timed((way.0, way.1, 1), behind, at, has_timestamps, 0);
            samples.push((at, ethernet(0x0800, &numbered(packet, way.2 + number))));
        }
    }
    sorted(samples)
}

/// A segment of a sender, a receiver and a sequence number, whose clock shows `at`.
fn timed(
    (from, to, sequence): ([u8; 4], [u8; 4], u32),
    acknowledged: u32,
    at: u64,
    has_timestamps: bool,
    data: usize,
) -> Vec<u8> {
    let [source, destination] = [from, to].map(|end| if end == CALLER { 443 } else { 40_000 });
    let mut header = ports(source, destination)[..4].to_vec();
    header.extend(sequence.to_be_bytes());
    header.extend(acknowledged.to_be_bytes());
    let words = if has_timestamps { 0x80 } else { 0x50 };
    header.extend([words, 0x10, 0, 0, 0, 0, 0, 0]);
    if has_timestamps {
        header.extend([1, 1, 8, 10]);
        header.extend((7_000_000 + (at / MILLI) as u32).to_be_bytes());
        header.extend([0; 4]);
    }
    ipv4(TCP, from, to, &[header, vec![0; data]].concat())
}

/// The samples with a silence before the packet of this number.
fn silent(mut samples: Vec<Sample>, number: usize, seconds: u64) -> Vec<Sample> {
    for (at, _) in &mut samples[number..] {
        *at += seconds * 1_000_000_000;
    }
    samples
}

/// Regression: of a clock set forward by 30 s, a capture of ten seconds was one of forty, and the load
/// a quarter.
#[test]
fn a_clock_that_was_set_forward_is_told_from_a_pause() {
    let with_call = |has_timestamps| sorted([call(10), download(10, has_timestamps)].concat());
    let forward = |samples: &[Sample]| {
        let comparison = replayed(file(samples), &mending()).unwrap();
        comparison.observed.oddities.set_forward
    };
    let is_data = |sample: &Sample| sample.1.len() > 1000;
    for has_timestamps in [false, true] {
        let plain = with_call(has_timestamps);
        let right = answer(file(&plain));
        assert_eq!(forward(&plain).steps, 0);
        // In the middle of a burst, of which nothing is acknowledged.
        let middle = (3000..)
            .find(|number| plain[number - 2..*number + 1].iter().all(is_data))
            .unwrap();
        for seconds in [4, 30, 3600] {
            let samples = silent(plain.clone(), middle, seconds);
            let found = forward(&samples);
            assert_eq!(found.steps, 1, "{seconds} s, timestamps {has_timestamps}");
            assert!(
                found.by.abs_diff(seconds * 1_000_000_000) < MILLI,
                "{found:?}"
            );
            assert!(found.at.abs_diff(plain[middle].0) < 2 * MILLI, "{found:?}");
            assert_eq!(answer(file(&samples)), right);
        }
        // Set right again.
        let mut samples = silent(plain.clone(), middle, 30);
        for (at, _) in &mut samples[middle + 500..] {
            *at -= 30 * 1_000_000_000;
        }
        let comparison = replayed(file(&samples), &mending()).unwrap();
        let oddities = comparison.observed.oddities;
        assert_eq!(
            (
                oddities.set_forward.steps,
                oddities.set_back,
                oddities.sorted
            ),
            (1, 0, 0)
        );
        assert_eq!(answer(file(&samples)), right);
        // So short that no sender has lost its patience.
        assert_eq!(forward(&silent(plain.clone(), middle, 2)).steps, 0);
    }
    // A pause: all is acknowledged, and clocks go on. All stop at once, which may be the clock's.
    let plain = with_call(false);
    let end = (3000..)
        .find(|number| !is_data(&plain[number - 1]) && is_data(&plain[*number]))
        .unwrap();
    let samples = silent(plain.clone(), end, 30);
    assert_eq!(forward(&samples).steps, 0);
    let silence = |samples: &[Sample]| {
        let comparison = replayed(file(samples), &mending()).unwrap();
        comparison.observed.silence
    };
    let found = silence(&samples).unwrap();
    assert!(found.by.abs_diff(30_000_000_000) < 20 * MILLI, "{found:?}");
    assert!(found.at.abs_diff(plain[end].0) < 20 * MILLI, "{found:?}");
    assert_eq!(silence(&plain), None);
    // A download that pauses alone, and a call that ends with it.
    let alone = download(10, false);
    assert_eq!(silence(&silent(alone, 3000, 30)), None);
    let mut ends = samples.clone();
    ends.retain(|(at, frame)| frame.len() != 214 || *at < 20_000_000_000);
    assert_eq!(silence(&ends), None);
    let middle = (3000..)
        .find(|number| plain[number - 2..*number + 1].iter().all(is_data))
        .unwrap();
    let mut going = with_call(true);
    for (at, frame) in &mut going[middle..] {
        *at += 30 * 1_000_000_000;
        if frame.len() > 66 && frame[46] == 0x80 {
            let ticks = u32::from_be_bytes(*frame[58..].first_chunk().unwrap()) + 30_000;
            frame[58..62].copy_from_slice(&ticks.to_be_bytes());
        }
    }
    assert_eq!(forward(&going).steps, 0);
    // A pause of the network: what was not acknowledged comes again.
    let mut again = silent(plain.clone(), middle, 30);
    let repeated = (again[middle].0 - 1000, plain[middle - 1].1.clone());
    again.insert(middle, repeated);
    assert_eq!(forward(&again).steps, 0);
    // Regression: a capture without bare acknowledgements.
    let mut without = silent(plain.clone(), middle, 30);
    without.retain(|(_, frame)| frame.len() != 54);
    assert_eq!(forward(&without).steps, 0);
    // Regression: the last acknowledgement before a pause is not in the capture.
    let mut lacking = download(10, false);
    let next = (3000..)
        .find(|number| !is_data(&lacking[number - 1]) && is_data(&lacking[*number]))
        .unwrap();
    lacking.remove(next - 1);
    assert_eq!(forward(&silent(lacking, next - 1, 30)).steps, 0);
    // Pauses as long as others are none of the clock.
    let mut samples = with_call(false);
    for (number, (at, _)) in samples.iter_mut().enumerate() {
        *at += number as u64 / 40 * 900 * MILLI;
    }
    assert_eq!(forward(&silent(samples, middle, 5)).steps, 0);
}

/// Regression: whole seconds were replayed, and a discipline was recommended for the bursts.
#[test]
fn a_coarse_clock_is_told() {
    let tick = |step: u64, samples: Vec<Sample>| {
        let mut samples = samples;
        for (at, _) in &mut samples {
            *at -= *at % step;
        }
        let observed = replayed(file(&samples), &mending()).unwrap().observed;
        assert!(!observed.is_without_clock);
        observed.tick.map(|tick| tick.as_picos() / 1_000_000_000)
    };
    let of = |step| tick(step * MILLI, both(3));
    assert_eq!(
        [of(1000), of(100), of(10), of(1)],
        [Some(1000), Some(100), Some(10), Some(1)]
    );
    assert_eq!(tick(1000, both(3)), None, "microseconds");
    // So few that nearly none shares its time with another.
    assert_eq!(tick(10 * MILLI, call(3)), None);
}

/// Regression: twenty times a thousand seconds ahead made a capture of ten seconds one of 1,005.
#[test]
fn a_few_dozen_times_that_all_others_contradict_are_not_believed() {
    let right = answer(file(&both(10)));
    let mut ahead = both(10);
    for (at, _) in &mut ahead[4000..4020] {
        *at += 1000 * 1_000_000_000;
    }
    let comparison = replayed(file(&ahead), &mending()).unwrap();
    assert_eq!(comparison.observed.oddities.strays, 20);
    assert_eq!(answer(file(&ahead)).2, right.2);
    // A device that starts in 1970 and then hears of the time.
    let bytes = {
        let samples = both(10);
        let mut bytes = file(&samples);
        let mut at = 24;
        for _ in 0..20 {
            bytes[at..at + 4].fill(0);
            let captured = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap());
            at += 16 + captured as usize;
        }
        bytes
    };
    let comparison = replayed(bytes, &mending()).unwrap();
    assert_eq!(comparison.observed.oddities.strays, 20);
    assert!(comparison.capture.seconds < 10.1);
}

/// Regression: packets of a row out of order, up to 64, were not passed back to their place, and a
/// capture of nine seconds was one of 10.9.
#[test]
fn rows_out_of_order_are_put_in_order_whatever_their_length() {
    for row in [1, 8, 9, 64] {
        for step in [-2_500_000_000, 1_800_000_000] {
            let mut samples = both(5);
            for (at, _) in &mut samples[1600..1600 + row] {
                *at = at.saturating_add_signed(step);
            }
            let found = answer(file(&samples));
            let comparison = replayed(file(&samples), &mending()).unwrap();
            assert_eq!(comparison.observed.oddities.backward_steps, 0);
            samples.sort_by_key(|(at, _)| *at);
            assert_eq!(found, answer(file(&samples)), "{row} packets, {step} ns");
        }
    }
}

/// Regression: times of a tool that counts microseconds were replayed, and a discipline recommended.
#[test]
fn times_that_no_clock_has_made_are_told() {
    let with_step = |step: u64| {
        let mut samples = both(1);
        for (number, (at, _)) in samples.iter_mut().enumerate() {
            *at = number as u64 * step;
        }
        let comparison = replayed(file(&samples), &mending()).unwrap();
        comparison.observed.is_without_clock
    };
    assert!(with_step(0) && with_step(1000));
    assert!(!with_step(2000));
    // Regression: short packets of equal length at line rate.
    assert!(with_step(1) && !with_step(672));
    let comparison = replayed(file(&both(1)), &mending()).unwrap();
    assert!(!comparison.observed.is_without_clock);
}

/// Regression: a call that was taken up again after fifteen minutes was no call, because its rate was
/// that of the whole time, and a download beside it was web.
#[test]
fn pauses_do_not_change_what_a_flow_is() {
    let kinds = |samples: &[Sample]| {
        let comparison = replayed(file(samples), &mending()).unwrap();
        let mut kinds = Vec::new();
        for flow in &comparison.flows {
            kinds.push((flow.label.clone(), flow.kind));
        }
        kinds
    };
    let plain = both(20);
    let right = kinds(&plain);
    assert!(
        right.iter().any(|(_, kind)| *kind == Kind::Call),
        "{right:?}"
    );
    for pause in [900, 7200, 13 * 86_400] {
        let mut samples = plain.clone();
        let half = samples.len() / 2;
        for (at, _) in &mut samples[half..] {
            *at += pause * 1_000_000_000;
        }
        assert_eq!(kinds(&samples), right, "{pause} s");
    }
}
