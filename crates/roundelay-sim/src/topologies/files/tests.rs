use proptest::prelude::*;
use roundelay::Fault;

use super::super::tests::{links_of, way};
use super::*;

const EDGES: &str = "# a square\na b 10mbit 5ms\nb c 1gbit\nc d 2ms 7\nd a\n";
const WEIGHTS: &str = "Perth,+Australia1 Sydney,+Australia2 2.5\nSydney,+Australia2 Perth,+Australia1 3\nSydney,+Australia2 Darwin 1\n";
const LATENCIES: &str = "Perth,+Australia1 Sydney,+Australia2 31.5\nSydney,+Australia2 Darwin 20\n";
const GML: &str = r#"Creator "somebody"
graph [
  directed 0
  label "Three towns"
  node [ id 0 label "Rome" Latitude 41.89193 Longitude 12.51133 ]
  node [ id 1 label "Milan" Latitude 45.46427 Longitude 9.18951 graphics [ x 1 y 2 ] ]
  node [ id 7 label "Rome" ] # twice
  edge [ source 0 target 1 LinkSpeed "2.5" LinkSpeedUnits "G" LinkSpeedRaw 2500000000.0 ]
  edge [ source 1
    target 7 ]
]
"#;
const GRAPHML: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="Latitude" attr.type="double" for="node" id="d1"/>
  <key attr.name="Longitude" attr.type="double" for="node" id="d2"/>
  <key attr.name="label" attr.type="string" for="node" id="d3"/>
  <key attr.name="LinkSpeed" attr.type="string" for="edge" id="d4"/>
  <key attr.name="LinkSpeedUnits" attr.type="string" for="edge" id="d5"/>
  <graph edgedefault="undirected">
    <node id="0"><data key="d1">41.89193</data><data key="d2">12.51133</data><data key="d3">Rome</data></node>
    <node id="1"><data key="d1">45.46427</data><data key="d2">9.18951</data><data key="d3">Milan</data></node>
    <edge id="e0" source="0" target="1"><data key="d4">2.5</data><data key="d5">G</data></edge>
  </graph>
</graphml>
"#;

fn read_with(
    parameters: &FromFile,
    format: Format,
    first: &str,
    second: Option<&str>,
) -> Result<Topology, Fault> {
    let second = second.map(|text| Text {
        name: "second",
        text,
    });
    parameters.read(
        format,
        Text {
            name: "first",
            text: first,
        },
        second,
        &Queues::default(),
    )
}

fn read(format: Format, first: &str, second: Option<&str>) -> Result<Topology, Fault> {
    read_with(&FromFile::default(), format, first, second)
}

/// Rate, delay and cost of a link.
fn link(topology: &Topology, from: &str, to: &str) -> (String, String, u64) {
    let node = |name: &str| {
        topology
            .network
            .named(name)
            .unwrap_or_else(|| panic!("no node {name}"))
    };
    let link = topology.network.link_between(node(from), node(to)).unwrap();
    let link = &topology.network.links()[link.index()];
    (link.rate.to_string(), link.delay.to_string(), link.cost)
}

fn told(rate: &str, delay: &str, cost: u64) -> (String, String, u64) {
    (rate.to_owned(), delay.to_owned(), cost)
}

#[test]
fn an_edge_list_says_what_it_wants_to() {
    let topology = read(Format::EdgeList, EDGES, None).unwrap();
    assert_eq!(link(&topology, "b", "a"), told("10mbit", "5ms", 1));
    assert_eq!(link(&topology, "b", "c"), told("1gbit", "1ms", 1));
    assert_eq!(link(&topology, "d", "c"), told("10gbit", "2ms", 7));
    assert_eq!(way(&topology, "host0", "host2"), ["a", "b", "c"]);
    assert_eq!(
        LinkClass::ALL.map(|class| links_of(&topology, class)),
        [8, 4, 4]
    );
}

#[test]
fn leaves_are_hosts_where_none_are_attached() {
    let parameters = FromFile {
        hosts_per_router: 0,
        ..FromFile::default()
    };
    let topology = read_with(&parameters, Format::EdgeList, "a r\nr s\ns b\n", None).unwrap();
    let names: Vec<_> = topology
        .hosts
        .iter()
        .map(|host| topology.network.name(*host))
        .collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(
        LinkClass::ALL.map(|class| links_of(&topology, class)),
        [2, 2, 2]
    );
}

#[test]
fn rocketfuel_has_weights_and_latencies_each_way() {
    let topology = read(Format::Rocketfuel, WEIGHTS, Some(LATENCIES)).unwrap();
    assert_eq!(
        link(&topology, "Perth,+Australia1", "Sydney,+Australia2"),
        told("10gbit", "31500us", 2_500)
    );
    assert_eq!(
        link(&topology, "Sydney,+Australia2", "Perth,+Australia1"),
        told("10gbit", "31500us", 3_000)
    );
    assert_eq!(
        link(&topology, "Darwin", "Sydney,+Australia2"),
        told("10gbit", "20ms", 1_000)
    );
    assert_eq!(links_of(&topology, LinkClass::Core), 4);
}

/// 478.6 km from Rome to Milan.
#[test]
fn the_zoo_knows_coordinates_and_speeds() {
    for topology in [
        read(Format::Gml, GML, None).unwrap(),
        read(Format::GraphMl, GRAPHML, None).unwrap(),
    ] {
        assert_eq!(
            link(&topology, "Milan", "Rome"),
            told("2500mbit", "2393us", 1)
        );
    }
    let topology = read(Format::Gml, GML, None).unwrap();
    assert_eq!(link(&topology, "Milan", "Rome#7"), told("10gbit", "1ms", 1));
}

#[test]
fn ways_that_are_listed_apart_are_not_doubled() {
    let directed = GML.replace("directed 0", "directed 1").replace(
        "edge [ source 1\n    target 7 ]",
        "edge [ source 1 target 0 ]",
    );
    assert_eq!(
        links_of(
            &read(Format::Gml, &directed, None).unwrap(),
            LinkClass::Core
        ),
        2
    );
    assert_eq!(
        links_of(
            &read(Format::Gml, &GML.replace("directed 0", "directed 1"), None).unwrap(),
            LinkClass::Core
        ),
        4
    );
}

#[test]
fn names_tell_formats() {
    let of = |names: &[&str]| {
        names
            .iter()
            .map(|name| Format::of_name(name))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        of(&["a/Abilene.gml", "GEANT.graphml"]),
        [Format::Gml, Format::GraphMl]
    );
    assert_eq!(
        of(&["1221/weights.intra", "edges.txt"]),
        [Format::Rocketfuel, Format::EdgeList]
    );
    assert!(
        Format::ALL
            .iter()
            .all(|format| format.name().parse() == Ok(*format))
    );
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let cases: [(Format, &str, Option<&str>, &str); 11] = [
        (
            Format::EdgeList,
            "a b\nc\n",
            None,
            "first:2: 'c': expected two nodes, then a rate, a delay or a cost, as in: a b 10mbit 5ms",
        ),
        (
            Format::EdgeList,
            "a b 5parsec\n",
            None,
            "first:1: '5parsec': expected a rate (10mbit), a delay (5ms) or a cost (a whole number)",
        ),
        (
            Format::EdgeList,
            "a a\n",
            None,
            "first:1: a link from 'a' to itself",
        ),
        (
            Format::EdgeList,
            "",
            None,
            "first: no link: a network has one or more",
        ),
        (
            Format::EdgeList,
            "a host1\n",
            None,
            "first: two nodes are called 'host1'",
        ),
        (
            Format::Rocketfuel,
            "a b -1\n",
            None,
            "first:1: '-1': expected a weight, a number of 0 or more, as in 2.5",
        ),
        (
            Format::Rocketfuel,
            "a b 1\n",
            Some("a c 1\n"),
            "second:1: no weight for 'a' to 'c'",
        ),
        (
            Format::Gml,
            "graph [\n node [ id 0 ]\n edge [ source 0 target 5 ]\n]\n",
            None,
            "first:3: target 5: there is no node with that id",
        ),
        (
            Format::Gml,
            "graph [\n node [\n",
            None,
            "first:2: 'node [' is not closed",
        ),
        (
            Format::GraphMl,
            "<graphml>\n<graph></nonsense></graphml>",
            None,
            "first:2: no XML: expected 'graph' tag, not 'nonsense' at 2:8",
        ),
        (
            Format::GraphMl,
            "<a>\n</a>",
            None,
            "first:1: no <graph> in it",
        ),
    ];
    for (format, first, second, message) in cases {
        assert_eq!(
            read(format, first, second).unwrap_err().to_string(),
            message
        );
    }
    let coordinates = GML.replace("Latitude 45.46427", "Latitude 145.46427");
    let message = "first:6: latitude 145.46427, longitude 9.18951: legal ranges are -90 to 90 and -360 to 360";
    assert_eq!(
        read(Format::Gml, &coordinates, None)
            .unwrap_err()
            .to_string(),
        message
    );
}

/// A map as written by networkx: one link with both ways listed, one without.
fn networkx(direction: &str, keys: [&str; 2], values: [&str; 2]) -> String {
    format!(
        r#"<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d1" for="edge" attr.name="{}" attr.type="string"/>
<key id="d0" for="edge" attr.name="{}" attr.type="string"/>
<graph edgedefault="{direction}">
<node id="A"/>
<node id="B"/>
<node id="C"/>
<edge source="A" target="B"><data key="d0">{}</data><data key="d1">{}</data></edge>
<edge source="B" target="A"><data key="d0">{}</data></edge>
<edge source="B" target="C"/>
</graph></graphml>"#,
        keys[1], keys[0], values[0], values[1], values[0]
    )
}

#[test]
fn rates_and_delays_are_written_as_in_scenarios() {
    let graphml = networkx("directed", ["rate", "delay"], ["1mbit", "30ms"]);
    let topology = read(Format::GraphMl, &graphml, None).unwrap();
    assert_eq!(link(&topology, "#A", "#B"), told("1mbit", "30ms", 1));
    assert_eq!(link(&topology, "#B", "#A"), told("1mbit", "1ms", 1));
    let gml = GML.replace(
        "LinkSpeedRaw 2500000000.0",
        "LinkSpeedRaw 2500000000.0 rate \"1mbit\" delay \"30ms\"",
    );
    assert_eq!(
        link(&read(Format::Gml, &gml, None).unwrap(), "Milan", "Rome"),
        told("1mbit", "30ms", 1)
    );
    let gml = |keys: &str| {
        read(
            Format::Gml,
            &GML.replace("LinkSpeedRaw 2500000000.0", keys),
            None,
        )
    };
    assert_eq!(
        link(&gml("delay 0").unwrap(), "Milan", "Rome"),
        told("2500mbit", "0s", 1)
    );
    let refused = |keys: &str| gml(keys).unwrap_err().to_string();
    assert_eq!(
        refused("rate 1000000"),
        "first:8: rate: '1000000' has no unit: expected a rate, as in \"10mbit\", from 1bit to 18000000tbit"
    );
    assert_eq!(
        refused("delay 2.5"),
        "first:8: delay: '2.5' has no unit: expected a time in s, ms, us or ns, as in \"5ms\", from 0 to 213 days"
    );
}

#[test]
fn what_looks_like_a_speed_or_a_delay_and_is_not_read_is_told() {
    let notes = |text: &str| read(Format::GraphMl, text, None).unwrap().oddities.notes;
    let read = "Read are rate and delay with their units, LinkSpeedRaw, and LinkSpeed with LinkSpeedUnits.";
    assert_eq!(
        notes(&networkx(
            "undirected",
            ["latency_ms", "linkCapacity"],
            ["10", "5"]
        )),
        [format!(
            "first: keys of links that look like speeds or delays are not read: latency_ms, linkCapacity. {read}"
        )]
    );
    assert_eq!(
        notes(&networkx(
            "undirected",
            ["rate", "delay"],
            ["10mbit", "5ms"]
        )),
        [""; 0]
    );
    for key in ["Bandwidth", "bw", "datarate", "linkspeed", "throughput"] {
        assert_eq!(
            notes(&networkx("undirected", ["LinkLabel", key], ["10", "x"])).len(),
            1,
            "{key}"
        );
    }
    for key in ["LinkLabel", "LinkType", "weight", "LinkNote", "id"] {
        assert_eq!(
            notes(&networkx("undirected", ["LinkLabel", key], ["10", "x"])),
            [""; 0],
            "{key}"
        );
    }
}

#[test]
fn speeds_in_units_that_are_none_are_refused_and_those_without_are_told() {
    let gml = |speed: &str| {
        read(
            Format::Gml,
            &GML.replace(
                "LinkSpeed \"2.5\" LinkSpeedUnits \"G\" LinkSpeedRaw 2500000000.0",
                speed,
            ),
            None,
        )
    };
    let refused = gml("LinkSpeed \"1\" LinkSpeedUnits \"X\"")
        .unwrap_err()
        .to_string();
    assert_eq!(
        refused,
        "first:8: LinkSpeedUnits 'X': expected K, M, G or T, for bits per second"
    );
    let note = "first: 1 of 2 links have no usable LinkSpeed (no number, or no LinkSpeedUnits); LinkSpeed is ignored for these links.";
    for speed in [
        "LinkSpeed \"155\"",
        "LinkSpeed \"155\" LinkSpeedUnits \"\"",
        "LinkSpeed \"<2.5\" LinkSpeedUnits \"G\"",
    ] {
        assert_eq!(gml(speed).unwrap().oddities.notes, [note], "{speed}");
    }
    assert_eq!(
        gml("LinkSpeed \"155\" LinkSpeedUnits \"M\"")
            .unwrap()
            .oddities
            .notes,
        [""; 0]
    );
}

#[test]
fn links_of_directed_maps_that_go_both_ways_are_told() {
    let notes = |direction| {
        read(
            Format::GraphMl,
            &networkx(direction, ["rate", "delay"], ["10mbit", "5ms"]),
            None,
        )
        .unwrap()
        .oddities
        .notes
    };
    assert_eq!(
        notes("directed"),
        [
            "first: the graph is directed, and 1 of 3 links have no link back; all links are read as both ways."
        ]
    );
    assert_eq!(notes("undirected"), [""; 0]);
    let gml = read(Format::Gml, &GML.replace("directed 0", "directed 1"), None).unwrap();
    assert_eq!(
        gml.oddities.notes,
        [
            "first: the graph is directed, and 2 of 2 links have no link back; all links are read as both ways."
        ]
    );
}

/// A file with some bytes replaced, removed or doubled.
fn damaged(text: &'static str) -> impl Strategy<Value = String> {
    let spots = prop::collection::vec(
        (
            0..text.len(),
            prop::sample::select(b"\0 \n\"[]<>&/#-0129aeE.".to_vec()),
            0..4_u8,
        ),
        0..12,
    );
    spots.prop_map(move |spots| {
        let mut bytes = text.as_bytes().to_vec();
        for (at, byte, how) in spots {
            let at = at % bytes.len().max(1);
            match how {
                0 if !bytes.is_empty() => drop(bytes.remove(at)),
                1 => bytes.insert(at.min(bytes.len()), byte),
                2 => bytes.truncate(at.max(1)),
                _ if !bytes.is_empty() => bytes[at] = byte,
                _ => {}
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// Damaged files are read, or refused with a message; a network read has links between its
    /// nodes.
    #[test]
    fn damaged_files_do_no_harm(
        texts in (damaged(EDGES), damaged(WEIGHTS), damaged(LATENCIES)),
        zoo in (damaged(GML), damaged(GRAPHML)),
    ) {
        let (edges, weights, latencies) = texts;
        let outcomes = [
            read(Format::EdgeList, &edges, None),
            read(Format::Rocketfuel, &weights, Some(&latencies)),
            read(Format::Gml, &zoo.0, None),
            read(Format::GraphMl, &zoo.1, None),
        ];
        for outcome in outcomes {
            match outcome {
                Ok(topology) => prop_assert!(topology.network.nodes() >= 2 && !topology.network.links().is_empty()),
                Err(error) => prop_assert!(error.message().len() > 5 && ["first", "second"].contains(&error.file().unwrap_or_default())),
            }
        }
    }
}
