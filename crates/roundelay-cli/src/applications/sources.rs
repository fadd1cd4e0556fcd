//! The sources of the scenario: connections and recorded flows, grouped by service.

use std::collections::HashSet;
use std::fmt::Write;

use roundelay::Duration;
use roundelay_trace::connections::{
    Applications, Close, Connection, End, Follows, Message, Recorded, Window,
};
use roundelay_trace::protocol_name;

use super::arguments::{Control, Controls};
use super::setting::{Setting, time};

/// Ports below have a service of their own name.
const WELL_KNOWN: u16 = 1024;
/// Data in a segment with timestamps, and without, on an Ethernet.
const WITH_TIMESTAMPS: u32 = 1448;
const WITHOUT_TIMESTAMPS: u32 = 1460;
/// A longer round trip is none: what came so late was no answer.
const LONGEST_ROUND_TRIP: Duration = Duration::from_secs(60);
/// Shorter segments are the ends of messages.
const SHORTEST_SEGMENT: u32 = 1000;
/// Recorded UDP flows of so many packets and so many a second are streams: calls and games.
const STREAM: (usize, f64) = (20, 4.0);

/// An entry of a source's list: a connection or a recorded flow, by its index among the
/// applications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Member {
    Connection(usize),
    Recorded(usize),
}

/// The sources of a scenario, and the entries of each one's list.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    pub(crate) text: String,
    pub(crate) members: Vec<Vec<Member>>,
}

/// Entries as text, with what they are.
#[derive(Debug, Default)]
struct List {
    text: String,
    members: Vec<Member>,
}

impl List {
    fn add(&mut self, text: &str, member: Member) {
        self.text += text;
        self.members.push(member);
    }
}

/// The list of this key, which may be new.
fn list_of<K: PartialEq>(lists: &mut Vec<(K, List)>, key: K) -> &mut List {
    let known = lists.iter().position(|(known, _)| *known == key);
    let index = known.unwrap_or(lists.len());
    if index == lists.len() {
        lists.push((key, List::default()));
    }
    &mut lists[index].1
}

/// Connections that share a `[[source]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    name: String,
    /// Whether the clients are where the link's traffic comes from.
    is_upload: bool,
    segment_len: u32,
    ecn: bool,
    has_opening: bool,
    /// The receive window, in segments, if it was the limit.
    window: Option<u64>,
    has_small_queue: bool,
    control: Control,
}

impl Group {
    /// `is_page`: whether it waits for an answer on another connection, or another one for its own.
    fn of(connection: &Connection, is_page: bool, controls: &Controls) -> Self {
        let port = connection.server.port();
        let mut name = "tcp".to_owned();
        if port < WELL_KNOWN {
            write!(name, " {port}").unwrap_or_default();
        }
        name += if is_page {
            " pages"
        } else if connection.endless {
            " bulk"
        } else {
            size(connection)
        };
        let is_upload = connection.over[End::Client as usize];
        if is_upload || connection.bytes[0] > connection.bytes[1] {
            name += " upload";
        }
        if !connection.has_opening {
            name += " begun before";
        }
        let longest = connection.segment_len.into_iter().max().unwrap_or(0);
        let is_known = (SHORTEST_SEGMENT..=WITHOUT_TIMESTAMPS).contains(&longest);
        let segment_len = if is_known { longest } else { WITH_TIMESTAMPS };
        let window = match connection.window {
            Window::Limit(bytes) => Some((bytes / u64::from(segment_len)).max(1)),
            Window::Roomy | Window::Unknown => None,
        };
        if window.is_some() {
            name += " by window";
        }
        let control = controls.of_connection(connection);
        if control != controls.usual {
            write!(name, " {}", control.name()).unwrap_or_default();
        }
        Self {
            name,
            is_upload,
            window,
            has_small_queue: connection.has_small_queue,
            control,
            segment_len,
            ecn: connection.ecn,
            has_opening: connection.has_opening,
        }
    }

    fn tcp(&self) -> String {
        let mut text = format!(
            "{{ preset = \"linux\", control = \"{}\", segment_len = {}",
            self.control.name(),
            self.segment_len
        );
        if self.segment_len > WITH_TIMESTAMPS {
            text += ", timestamps = false";
        }
        if let Some(segments) = self.window {
            write!(text, ", window_growth = false, receive_window = {segments}")
                .unwrap_or_default();
        }
        if self.has_small_queue {
            text += ", small_queue = true, offload = \"split\"";
        }
        // BBR has no answer to marks.
        let has_answer = !matches!(self.control, Control::Bbr | Control::Bbr3);
        if self.ecn && has_answer {
            text += ", ecn = true";
        }
        if !self.has_opening {
            text += ", syn_exchange = false";
        }
        text + " }"
    }
}

/// Connections by what an end writes at most before the other one writes: pages, pictures and
/// chunks of video, files. Their completion times have nothing in common.
fn size(connection: &Connection) -> &'static str {
    let mut most = 0;
    let mut run: (Option<End>, u64) = (None, 0);
    for message in &connection.messages {
        let before = if run.0 == Some(message.by) { run.1 } else { 0 };
        run = (Some(message.by), before.saturating_add(message.bytes));
        most = run.1.max(most);
    }
    match most {
        0..100_000 => " short",
        100_000..1_000_000 => " medium",
        _ => " long",
    }
}

/// All sources, as TOML.
pub(super) fn all(applications: &Applications, setting: &Setting, unknown: Duration) -> Sources {
    let mut sources = Sources::default();
    let mut groups: Vec<(Group, List)> = Vec::new();
    let round_trips = applications.round_trips();
    let pages = pages(&applications.connections);
    for (number, connection) in applications.connections.iter().enumerate() {
        let is_over = connection.over.into_iter().any(|over| over);
        if connection.messages.is_empty() || !is_over {
            continue;
        }
        let round_trip = match round_trips[number] {
            Some(measured) => part_of(measured, setting.round_trip_part),
            None => unknown,
        };
        let round_trip = round_trip.min(LONGEST_ROUND_TRIP);
        let group = Group::of(connection, pages.contains(&number), &setting.controls);
        let list = list_of(&mut groups, group);
        // An answer in another source cannot be awaited, nor one without end: the connection then
        // begins when it did.
        let awaited = connection.follows.and_then(|follows| {
            let awaited = Member::Connection(follows.connection);
            let index = list.members.iter().rposition(|known| *known == awaited)?;
            let known = &applications.connections[follows.connection];
            let has_end = follows.message + usize::from(known.endless) < known.messages.len();
            has_end.then_some((index, follows))
        });
        let line = line(connection, awaited, round_trip);
        list.add(&line, Member::Connection(number));
    }
    let mut names = Vec::new();
    for (group, list) in groups {
        let [from, to] = ends(group.is_upload);
        write!(
            sources.text,
            "\n[[source]]\nname = \"{}\"\nkind = \"connections\"\nfrom = \"{from}\"\n\
             to = \"{to}\"\nstart_jitter = \"{}\"\ntcp = {}\nconnections = [\n{}]\n",
            unused(&mut names, &group.name),
            setting.jitter,
            group.tcp(),
            list.text
        )
        .unwrap_or_default();
        sources.members.push(list.members);
    }
    add_recorded(&mut sources, applications, setting, &mut names);
    sources
}

fn part_of(time: Duration, part: f64) -> Duration {
    Duration::from_nanos((time.as_nanos() as f64 * part) as u64)
}

/// Clients fetch from the other side of the link, unless they are where its traffic comes from.
const fn ends(is_upload: bool) -> [&'static str; 2] {
    if is_upload {
        ["left", "right"]
    } else {
        ["right", "left"]
    }
}

/// A name that no source has yet.
fn unused(names: &mut Vec<String>, name: &str) -> String {
    let mut unused = name.to_owned();
    let mut number = 2;
    while names.contains(&unused) {
        unused = format!("{name} {number}");
        number += 1;
    }
    names.push(unused.clone());
    unused
}

/// The connections that wait for an answer on another one, and those that are waited for.
fn pages(connections: &[Connection]) -> HashSet<usize> {
    let mut pages = HashSet::new();
    for (number, connection) in connections.iter().enumerate() {
        if let Some(follows) = connection.follows {
            pages.insert(number);
            pages.insert(follows.connection);
        }
    }
    pages
}

/// A connection as a line of its list. `awaited`: the answer that it waits for, with the place of that
/// connection in the list.
fn line(
    connection: &Connection,
    awaited: Option<(usize, Follows)>,
    round_trip: Duration,
) -> String {
    let mut line = "  { ".to_owned();
    let mut start = connection.start;
    if let Some((index, follows)) = awaited {
        let message = follows.message;
        write!(
            line,
            "after = {{ connection = {index}, message = {message} }}, "
        )
        .unwrap_or_default();
        start = follows.after;
    }
    write!(
        line,
        "start = \"{}\", round_trip = \"{}\"",
        time(start),
        time(round_trip)
    )
    .unwrap_or_default();
    if connection.endless
        && let Close::By(_, at) = connection.close
        && at > connection.start
    {
        let until = start + (at - connection.start);
        write!(line, ", until = \"{}\"", time(until)).unwrap_or_default();
    }
    if connection.concurrent {
        line += ", concurrent = true";
    }
    line += ", messages = [";
    let last = connection.messages.len() - 1;
    for (number, message) in connection.messages.iter().enumerate() {
        let separator = if number > 0 { ", " } else { "" };
        let is_endless = connection.endless && number == last;
        line += separator;
        line += &words(message, is_endless);
    }
    line + "] },\n"
}

/// A message as a word of the list.
fn words(message: &Message, is_endless: bool) -> String {
    let mark = match message.by {
        End::Client => '>',
        End::Server => '<',
    };
    let bytes = if is_endless {
        "endless".to_owned()
    } else {
        format!("{}b", message.bytes)
    };
    if let Some(every) = message.every {
        return format!("\"{mark} {bytes} every {}\"", time(every));
    }
    // Microseconds are below what a capture's times can tell.
    if message.after.as_nanos() < 1000 {
        format!("\"{mark} {bytes}\"")
    } else {
        format!("\"{mark} {bytes} after {}\"", time(message.after))
    }
}

/// Adds what does not react, as recorded.
fn add_recorded(
    sources: &mut Sources,
    applications: &Applications,
    setting: &Setting,
    names: &mut Vec<String>,
) {
    let mut groups: Vec<((String, bool), List)> = Vec::new();
    for (number, flow) in applications.recorded.iter().enumerate() {
        if !flow.over && setting.link_only {
            continue;
        }
        let lists = list_of(&mut groups, (service(flow), flow.over));
        lists.add(&list(flow), Member::Recorded(number));
    }
    for ((name, over), lists) in groups {
        let [to, from] = ends(false);
        let [from, to] = if over { [from, to] } else { [to, from] };
        write!(
            sources.text,
            "\n[[source]]\nname = \"{}\"\nkind = \"recorded\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
             flows = [\n{}]\n",
            unused(names, &name),
            lists.text
        )
        .unwrap_or_default();
        sources.members.push(lists.members);
    }
}

/// The name of a recorded flow's group.
fn service(flow: &Recorded) -> String {
    let back = if flow.over { "" } else { " back" };
    let Some(protocol) = flow.protocol else {
        return format!("other packets{back}");
    };
    let name =
        protocol_name(protocol).map_or_else(|| format!("protocol {protocol}"), str::to_owned);
    let Some([from, to]) = flow.ends else {
        return format!("{name}{back}");
    };
    let port = from.port().min(to.port());
    let known = if port == 0 || port >= WELL_KNOWN {
        String::new()
    } else {
        format!(" {port}")
    };
    let first = flow.packets.first().map_or(0, |(at, _)| *at);
    let last = flow.packets.last().map_or(0, |(at, _)| *at);
    let seconds = (last - first) as f64 / 1e9;
    let count = flow.packets.len();
    let is_stream = known.is_empty() && count >= STREAM.0 && count as f64 >= STREAM.1 * seconds;
    let stream = if is_stream && port > 0 {
        " streams"
    } else {
        ""
    };
    format!("{name}{known}{stream}{back}")
}

/// A recorded flow as a list of packets.
fn list(flow: &Recorded) -> String {
    let mut list = "\"\"\"\n".to_owned();
    for (at, len) in &flow.packets {
        let [seconds, micros] = [at / 1_000_000_000, at / 1000 % 1_000_000];
        writeln!(list, "{seconds}.{micros:06} {}", (*len).clamp(1, 65_535)).unwrap_or_default();
    }
    list + "\"\"\",\n"
}
