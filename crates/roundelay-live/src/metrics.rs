//! A running session's metrics for Prometheus: text over HTTP, with the names that `tc -s -j` uses.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

use roundelay::DropReason;
use roundelay_metrics::Delays;

use crate::books::LostOutside;
use crate::bottleneck::Bottleneck;
use crate::phases::{PhaseBooks, PhaseMetrics};
use crate::request::Request;
use crate::settings::Way;

/// Where Linux tells the machine's name, and the domains in which it looks for short names.
const HOSTNAME: &str = "/proc/sys/kernel/hostname";
const RESOLVER: &str = "/etc/resolv.conf";
/// Domains of local networks, which nobody can register.
const LOCAL_DOMAINS: [&str; 7] = [
    "local",
    "lan",
    "home",
    "home.arpa",
    "internal",
    "intranet",
    "localdomain",
];
/// The longest request.
const LONGEST: usize = 8192;
/// How many clients we serve at a time. One more replaces the one that has been here longest.
const CLIENTS: usize = 16;

/// A server with a single page. It never waits: what a client has not sent yet, it reads at the
/// next call.
#[derive(Debug)]
pub struct Metrics {
    listener: TcpListener,
    /// What this machine is called, by itself and in domains.
    own_names: Vec<String>,
    /// Clients that have not sent their whole request yet. The one that has been here longest comes
    /// first.
    clients: VecDeque<Request<TcpStream>>,
}

impl Metrics {
    /// Listens at an address. Port 0 stands for any free one.
    ///
    /// # Errors
    /// The address is taken, or is not this machine's.
    pub fn listen(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            own_names: own_names(
                &fs::read_to_string(HOSTNAME).unwrap_or_default(),
                &fs::read_to_string(RESOLVER).unwrap_or_default(),
            ),
            listener,
            clients: VecDeque::new(),
        })
    }

    /// The address.
    ///
    /// # Errors
    /// The system does not tell it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves clients as far as they have sent their requests. `text` makes the page. A client's
    /// fault is not the session's, and a silent client keeps nobody out.
    pub fn serve(&mut self, text: impl FnOnce() -> String) {
        // We make one page for each call, because the session waits for it.
        let mut text = Some(text);
        self.clients.retain_mut(|client| {
            match client.read(|bytes| bytes.windows(4).any(|four| four == b"\r\n\r\n")) {
                Ok(None) => true,
                Ok(Some(request)) => {
                    let Some(text) = text.take() else {
                        return true;
                    };
                    let answer = answer(&String::from_utf8_lossy(request), &self.own_names, text);
                    _ = client.answer(&answer);
                    false
                }
                Err(_) => false,
            }
        });
        // Clients that give way here were read just now. Those that come are read at the next call.
        for _ in 0..CLIENTS {
            let Ok((stream, _)) = self.listener.accept() else {
                return;
            };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.clients.len() == CLIENTS {
                self.clients.pop_front();
            }
            self.clients.push_back(Request::new(stream, LONGEST));
        }
    }
}

/// What a machine is called, in small letters: by itself, by its whole name, and in domains that
/// are its own. Not in any domain: many machines have one name, and whoever owns a domain can give
/// it there to any address.
fn own_names(hostname: &str, resolver: &str) -> Vec<String> {
    let whole = hostname.trim().to_ascii_lowercase();
    let short = whole.split('.').next().unwrap_or_default();
    let mut names = vec!["localhost".to_owned()];
    if short.is_empty() {
        return names;
    }
    let mut domains = LOCAL_DOMAINS.map(str::to_owned).to_vec();
    for line in resolver.lines() {
        let mut words = line.split_whitespace();
        if matches!(words.next(), Some("search" | "domain")) {
            domains.extend(words.map(str::to_ascii_lowercase));
        }
    }
    for domain in domains {
        names.push(format!("{short}.{}", domain.trim_matches('.')));
    }
    names.push(short.to_owned());
    names.push(whole);
    names
}

/// Whether a request names the host as whoever means this machine does: by a number or by one of its
/// names. A page in a browser could have a name of its own lead here, and so read what we answer.
fn names_this_machine(request: &str, own_names: &[String]) -> bool {
    for line in request.lines().skip(1) {
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("host") {
            let value = value.trim();
            let is_number = value.parse::<SocketAddr>().is_ok() || value.parse::<IpAddr>().is_ok();
            let host = value.split(':').next().unwrap_or_default();
            let host = host.trim_end_matches('.').to_ascii_lowercase();
            return is_number || own_names.contains(&host);
        }
    }
    true
}

/// The answer to an HTTP request. `text` makes the page.
fn answer(request: &str, own_names: &[String], text: impl FnOnce() -> String) -> String {
    let mut words = request.split_whitespace();
    let method = words.next();
    let path = words.next();
    let (status, body) = match (method, path) {
        _ if !names_this_machine(request, own_names) => (
            "403 Forbidden",
            "expected as host localhost, this machine's name alone or in a local domain, or an \
             address as a number\n"
                .to_owned(),
        ),
        (Some("GET"), Some("/metrics" | "/")) => ("200 OK", text()),
        (Some("GET"), _) => ("404 Not Found", "expected the path /metrics\n".to_owned()),
        _ => (
            "405 Method Not Allowed",
            "expected the method GET\n".to_owned(),
        ),
    };
    format!(
        "HTTP/1.1 {status}\r\n\
         Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

/// A running session as its metrics show it.
pub(crate) struct MetricsPage<'a> {
    pub(crate) seconds: f64,
    pub(crate) bottleneck: &'a Bottleneck,
    pub(crate) lateness: [&'a Delays; 2],
    pub(crate) lost_outside: [LostOutside; 2],
}

/// A metric with one number for each direction: name, kind, help.
type Plain = (&'static str, &'static str, &'static str);

impl MetricsPage<'_> {
    /// The page.
    pub(crate) fn text(&self) -> String {
        let mut page = String::new();
        head(
            &mut page,
            (
                "uptime_seconds",
                "gauge",
                "Time since the start of the run.",
            ),
        );
        // Writing to a String cannot fail.
        _ = writeln!(page, "roundelay_uptime_seconds {}", self.seconds);
        let mut phases = Vec::new();
        for way in Way::BOTH {
            for phase in self.bottleneck.phase_metrics(way) {
                phases.push((way, phase));
            }
        }
        info(&mut page, &phases);
        for (metric, value) in BY_PHASE {
            head(&mut page, metric);
            for (way, phase) in &phases {
                let label = &phase.label;
                let value = value(&phase.books);
                _ = writeln!(
                    page,
                    "roundelay_{}{{way=\"{way}\",phase=\"{label}\"}} {value}",
                    metric.0
                );
            }
        }
        for (metric, value) in PLAIN {
            head(&mut page, metric);
            for way in Way::BOTH {
                let value = value(self, way);
                _ = writeln!(page, "roundelay_{}{{way=\"{way}\"}} {value}", metric.0);
            }
        }
        drops(&mut page, &phases);
        let mut delays = Vec::new();
        for (way, phase) in &phases {
            let labels = format!("way=\"{way}\",phase=\"{}\"", phase.label);
            delays.push((labels, &phase.delays));
        }
        let mut lateness = Vec::new();
        for way in Way::BOTH {
            lateness.push((format!("way=\"{way}\""), self.lateness[way.index()]));
        }
        let help = "From arrival at the queue to the end of transmission.";
        summary(&mut page, "delay_seconds", help, &delays);
        let help = "How late packets left, beyond the time at which they were due.";
        summary(&mut page, "late_seconds", help, &lateness);
        page
    }
}

/// What the packets of each phase met.
fn info(page: &mut String, phases: &[(Way, PhaseMetrics)]) {
    let help = "What the packets of a phase met: the link, and the queue as written.";
    head(page, ("info", "gauge", help));
    for (way, phase) in phases {
        let mut labels = format!("way=\"{way}\",phase=\"{}\"", phase.label);
        if let Some(conditions) = &phase.conditions {
            let queue = quoted(&conditions.queue);
            let link = quoted(conditions.link().trim_end_matches(','));
            labels += &format!(",queue=\"{queue}\",link=\"{link}\"");
        }
        _ = writeln!(page, "roundelay_info{{{labels}}} 1");
    }
}

fn drops(page: &mut String, phases: &[(Way, PhaseMetrics)]) {
    let help = "Packets dropped by the queue.";
    head(page, ("drops_total", "counter", help));
    for (way, phase) in phases {
        for (reason, count) in DropReason::ALL.iter().zip(phase.books.dropped) {
            let labels = format!("way=\"{way}\",phase=\"{}\"", phase.label);
            let reason = reason.name();
            _ = writeln!(
                page,
                "roundelay_drops_total{{{labels},reason=\"{reason}\"}} {count}"
            );
        }
    }
}

/// Reads a number.
type Value = fn(&MetricsPage<'_>, Way) -> u64;

/// Reads a phase's number.
type PhaseValue = fn(&PhaseBooks) -> u64;

/// Figures that belong to a phase.
const BY_PHASE: [(Plain, PhaseValue); 4] = [
    (
        (
            "arrived_packets_total",
            "counter",
            "Packets that came to the queue.",
        ),
        |books| books.arrived,
    ),
    (
        ("packets_total", "counter", "Packets sent by the link."),
        |books| books.sent,
    ),
    (
        ("bytes_total", "counter", "Bytes sent by the link."),
        |books| books.sent_bytes,
    ),
    (
        ("ecn_mark_total", "counter", "Packets marked by the queue."),
        |books| books.marked,
    ),
];

/// Figures of the present, and those on which the queue has no influence.
const PLAIN: [(Plain, Value); 7] = [
    (("qlen", "gauge", "Packets in the queue."), |page, way| {
        page.bottleneck.backlog(way).packets
    }),
    (("backlog", "gauge", "Bytes in the queue."), |page, way| {
        page.bottleneck.backlog(way).bytes
    }),
    (
        (
            "delivered_packets_total",
            "counter",
            "Packets handed to the interface at the other end.",
        ),
        |page, way| page.bottleneck.books(way).delivered,
    ),
    (
        (
            "lost_packets_total",
            "counter",
            "Packets lost on the wire, as the settings ask.",
        ),
        |page, way| page.bottleneck.books(way).lost,
    ),
    (
        (
            "refused_packets_total",
            "counter",
            "Packets that the interface at the other end refused.",
        ),
        |page, way| page.bottleneck.books(way).refused,
    ),
    (
        (
            "outside_packets_total",
            "counter",
            "Packets lost before the queue saw them.",
        ),
        |page, way| page.lost_outside[way.index()].total(),
    ),
    (
        (
            "rate_bits_per_second",
            "gauge",
            "Rate of the link; with a trace, the mean.",
        ),
        |page, way| page.bottleneck.rate(way).bits_per_second(),
    ),
];

fn head(page: &mut String, (name, kind, help): Plain) {
    _ = writeln!(
        page,
        "# HELP roundelay_{name} {help}\n# TYPE roundelay_{name} {kind}"
    );
}

/// Writes quantiles, sum and count of delays, each with its labels.
fn summary(page: &mut String, name: &str, help: &str, all: &[(String, &Delays)]) {
    _ = writeln!(
        page,
        "# HELP roundelay_{name} {help}\n# TYPE roundelay_{name} summary"
    );
    for (labels, delays) in all {
        for q in [0.5, 0.99, 0.999] {
            if let Some(value) = delays.quantile(q) {
                let value = value.as_secs_f64();
                _ = writeln!(
                    page,
                    "roundelay_{name}{{{labels},quantile=\"{q}\"}} {value}"
                );
            }
        }
        let sum = delays.sum().as_secs_f64();
        let count = delays.count();
        _ = writeln!(page, "roundelay_{name}_sum{{{labels}}} {sum}");
        _ = writeln!(page, "roundelay_{name}_count{{{labels}}} {count}");
    }
}

/// Quotes a text as a label's value.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// What the server says to a request that comes in two parts.
    fn answer(request: [&'static str; 2]) -> String {
        let mut server = Metrics::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = server.address().unwrap();
        let client = thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            for part in request {
                stream.write_all(part.as_bytes()).unwrap();
                thread::sleep(Duration::from_millis(20));
            }
            let mut answer = String::new();
            // A server that does not like the request may close while it is sent.
            _ = stream.read_to_string(&mut answer);
            answer
        });
        while !client.is_finished() {
            server.serve(|| "a 1\n".to_owned());
            thread::sleep(Duration::from_millis(1));
        }
        client.join().unwrap()
    }

    #[test]
    fn a_request_in_parts_gets_the_page_and_a_wrong_one_what_is_legal() {
        let page = answer(["GET /metrics HT", "TP/1.1\r\nHost: localhost:1\r\n\r\n"]);
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        assert!(
            page.ends_with("Content-Length: 4\r\nConnection: close\r\n\r\na 1\n"),
            "{page}"
        );
        let page = answer(["GET /etc/passwd HTTP/1.1\r\n", "\r\n"]);
        assert!(
            page.starts_with("HTTP/1.1 404") && page.ends_with("/metrics\n"),
            "{page}"
        );
        let page = answer(["POST /metrics HTTP/1.1\r\n", "\r\n"]);
        assert!(page.starts_with("HTTP/1.1 405"), "{page}");
    }

    #[test]
    fn a_name_that_leads_here_by_chance_reads_nothing() {
        let names = own_names(
            "router.home\n",
            "nameserver ::1\nsearch office.example lan\n",
        );
        for (host, is_ours) in [
            ("localhost", true),
            ("LocalHost:9100", true),
            ("127.0.0.1:9100", true),
            ("127.0.0.1", true),
            ("[::1]:9100", true),
            ("attacker.example:9100", false),
            ("localhost.attacker.example", false),
            ("router:9100", true),
            ("Router.lan:9100", true),
            ("router.home.", true),
            ("router.office.example:9100", true),
            ("router.attacker.example:9100", false),
            ("router.lan.attacker.example", false),
            ("router-attacker.example:9100", false),
            ("", false),
        ] {
            let request = format!("GET /metrics HTTP/1.1\r\nAccept: */*\r\nhost: {host}\r\n\r\n");
            let page = super::answer(&request, &names, || "a 1\n".to_owned());
            assert_eq!(page.starts_with("HTTP/1.1 200"), is_ours, "{host}: {page}");
        }
        // A machine without a name is not called by an empty one.
        let page = super::answer(
            "GET / HTTP/1.1\r\nhost:\r\n\r\n",
            &own_names("", ""),
            String::new,
        );
        assert!(page.starts_with("HTTP/1.1 403"), "{page}");
    }

    #[test]
    fn clients_that_say_nothing_keep_nobody_out() {
        let mut server = Metrics::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = server.address().unwrap();
        let mut silent = Vec::new();
        for _ in 0..CLIENTS {
            silent.push(TcpStream::connect(address).unwrap());
        }
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        for _ in 0..CLIENTS - 1 {
            silent.push(TcpStream::connect(address).unwrap());
        }
        client
            .set_read_timeout(Some(Duration::from_millis(1)))
            .unwrap();
        let mut answer = Vec::new();
        for _ in 0..1000 {
            server.serve(|| "a 1\n".to_owned());
            if client.read_to_end(&mut answer).is_ok() {
                break;
            }
        }
        assert!(answer.ends_with(b"a 1\n"), "{answer:?}");
        assert!(server.clients.len() <= CLIENTS);
        drop(silent);
    }

    #[test]
    fn labels_are_quoted() {
        assert_eq!(quoted("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
