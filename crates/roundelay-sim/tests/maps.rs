//! Published maps with their oddities: the Internet Topology Zoo's (nodes without coordinates,
//! repeated names or names with trailing blanks, parallel links, speeds in words, unconnected
//! parts), Rocketfuel's (weights in both directions, latencies in one), and files from other
//! systems.

use roundelay::{Duration, Fault};
use roundelay_sim::topologies::files::{Format, FromFile, Text};
use roundelay_sim::topologies::{Queues, Topology};
use roundelay_sim::{LinkClass, Metric, NodeId, Routing};

fn try_read(format: Format, text: &str, second: Option<&str>) -> Result<Topology, Fault> {
    let second = second.map(|text| Text {
        name: "second",
        text,
    });
    FromFile::default().read(
        format,
        Text { name: "map", text },
        second,
        &Queues::default(),
    )
}

fn read(format: Format, text: &str) -> Topology {
    try_read(format, text, None).unwrap_or_else(|error| panic!("{error}"))
}

/// Rates and delays of the links from one node to another.
fn links(topology: &Topology, from: &str, to: &str) -> Vec<(String, Duration)> {
    let network = &topology.network;
    let node = |name: &str| {
        network
            .named(name)
            .unwrap_or_else(|| panic!("no node '{name}'"))
    };
    let between = network
        .leaving(node(from))
        .iter()
        .map(|link| &network.links()[link.0 as usize]);
    between
        .filter(|link| link.to == node(to))
        .map(|link| (link.rate.to_string(), link.delay))
        .collect()
}

/// Names of routers, in order.
fn routers(topology: &Topology) -> Vec<String> {
    let network = &topology.network;
    let nodes = (0..network.nodes() as u32)
        .map(NodeId)
        .filter(|node| !topology.hosts.contains(node));
    nodes.map(|node| network.name(node)).collect()
}

/// Towns of the Abilene network of 2005 with coordinates, and the links by town numbers: all
/// OC-192, written in words.
const ABILENE: [(&str, f64, f64); 11] = [
    ("New York", 40.71427, -74.00597),
    ("Chicago", 41.85003, -87.65005),
    ("Washington DC", 38.89511, -77.03637),
    ("Seattle", 47.60621, -122.33207),
    ("Sunnyvale", 37.36883, -122.03635),
    ("Los Angeles", 34.05223, -118.24368),
    ("Denver", 39.73915, -104.9847),
    ("Kansas City", 39.11417, -94.62746),
    ("Houston", 29.76328, -95.36327),
    ("Atlanta", 33.749, -84.38798),
    ("Indianapolis", 39.76838, -86.15804),
];
const ABILENE_LINKS: [(u32, u32); 14] = [
    (0, 1),
    (0, 2),
    (1, 10),
    (2, 9),
    (3, 4),
    (3, 6),
    (4, 5),
    (4, 6),
    (5, 8),
    (6, 7),
    (7, 8),
    (7, 10),
    (8, 9),
    (9, 10),
];

/// GraphML as in the zoo: keys for graph, nodes and edges with some names in common, the node's id
/// twice, irrelevant data.
fn graphml() -> String {
    let keys = [
        ("edge", "int", "key", 37),
        ("edge", "string", "LinkLabel", 35),
        ("edge", "string", "LinkType", 34),
        ("node", "string", "label", 33),
        ("node", "double", "Longitude", 32),
        ("node", "int", "id", 31),
        ("node", "double", "Latitude", 29),
        ("node", "int", "Internal", 28),
        ("graph", "string", "label", 12),
        ("graph", "string", "Note", 6),
    ];
    let key = |(on, kind, name, id)| {
        format!("  <key attr.name=\"{name}\" attr.type=\"{kind}\" for=\"{on}\" id=\"d{id}\" />\n")
    };
    let data = |id: u32, text: &str| format!("      <data key=\"d{id}\">{text}</data>\n");
    let node = |(id, (name, latitude, longitude)): (usize, (&str, f64, f64))| {
        let place = data(28, "1")
            + &data(29, &latitude.to_string())
            + &data(31, &id.to_string())
            + &data(32, &longitude.to_string());
        format!(
            "    <node id=\"{id}\">\n{place}{}    </node>\n",
            data(33, name)
        )
    };
    let edge = |(from, to)| {
        let words = data(34, "OC-192") + &data(35, "OC-192c") + &data(37, "0");
        format!("    <edge source=\"{from}\" target=\"{to}\">\n{words}    </edge>\n")
    };
    let head = "<?xml version=\"1.0\"  encoding=\"utf-8\"?><graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" \
                xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns \
                http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">\n";
    let (keys, nodes) = (
        keys.map(key).concat(),
        ABILENE
            .into_iter()
            .enumerate()
            .map(node)
            .collect::<String>(),
    );
    let edges = ABILENE_LINKS.map(edge).concat();
    let graph = data(12, "Abilene") + &data(6, "http://a.b/?c=d&amp;e=f");
    format!(
        "{head}{keys}  <graph edgedefault=\"undirected\">\n{graph}{nodes}{edges}  </graph>\n</graphml>\n"
    )
}

#[test]
fn abilene_is_where_it_is() {
    let topology = read(Format::GraphMl, &graphml());
    assert_eq!(routers(&topology), ABILENE.map(|(name, ..)| name));
    let core = topology
        .network
        .links()
        .iter()
        .filter(|link| link.class == LinkClass::Core)
        .count();
    assert_eq!((core, topology.hosts.len()), (28, 11));
    for (from, to) in ABILENE_LINKS {
        let [(there, ..), (back, ..)] = [from, to].map(|town| ABILENE[town as usize]);
        assert_eq!(
            (
                links(&topology, there, back).len(),
                links(&topology, back, there).len()
            ),
            (1, 1)
        );
    }
    // Great-circle distances: New York to Chicago 1145 km, Los Angeles to Houston 2205 km. OC-192
    // is given in words only.
    for (from, to, kilometres) in [
        ("New York", "Chicago", 1145),
        ("Los Angeles", "Houston", 2205),
    ] {
        let (rate, delay) = links(&topology, from, to)[0].clone();
        assert_eq!(rate, "10gbit");
        assert!(
            delay.as_picos().abs_diff(kilometres * 5_000_000) < 10_000_000,
            "{from} to {to}: {delay}"
        );
    }
}

/// A piece of typical GML of the zoo: flags and notes about the graph, keys in any order, quotes
/// around speeds.
const GML: &str = r#"graph [
  DateObtained "21/10/10"
  Classification "Backbone Transit Testbed?"
  Note "T&#233;l&#233;com, [sic] # of links = 6"
  label "somewhere"
  multigraph 1
  node [
    id 0
    label "MIX    "
    Internal 0
  ]
  node [
    id 1
    label "GEANT"
    Longitude -74.00597
    Internal 1
    Latitude 40.71427
  ]
  node [
    id 2
    label "GEANT"
    hyperedge 1
  ]
  node [
    id 3
    label "T&#252;bingen &#38; &quot;A&B&quot; &#0; &"
  ]
  node [
    id 4
  ]
  node [
    id 5
    label "None"
    Country "Palestinian Territory"
  ]
  node [
    id 6
    label "None"
  ]
  edge [
    source 0
    target 1
    LinkSpeed "155"
    LinkLabel "155 Mbps"
  ]
  edge [
    source 1
    target 0
    LinkSpeed "1"
    LinkLabel "1 Gbps"
    LinkSpeedUnits "G"
    id "e3"
  ]
  edge [
    source 1
    target 2
    LinkLabel "Fibre ottica spenta (Dark Fibre)"
  ]
  edge [
    source 3
    target 2
    LinkSpeed "<2.5"
    LinkSpeedUnits "G"
  ]
  edge [
    source 3
    target 4
    LinkSpeed "34"
    LinkSpeedUnits "M"
  ]
  edge [
    source 5
    target 6
    LinkSpeedRaw 2500000000.0
  ]
]
"#;

#[test]
fn odd_maps_are_read() {
    let topology = read(Format::Gml, GML);
    let names = routers(&topology);
    assert_eq!(
        names,
        [
            "MIX",
            "GEANT",
            "GEANT#2",
            "T\u{fc}bingen & \"A&B\" &#0; &",
            "#4",
            "None",
            "None#6"
        ]
    );
    let rates = |from: &str, to: &str| {
        links(&topology, from, to)
            .into_iter()
            .map(|(rate, _)| rate)
            .collect::<Vec<_>>()
    };
    // Two links between the same towns, one with a speed without unit, which is ignored; both go in
    // both directions.
    assert_eq!(rates("MIX", "GEANT"), ["10gbit", "1gbit"]);
    assert_eq!(rates("GEANT", "MIX"), ["10gbit", "1gbit"]);
    assert_eq!(rates("GEANT", "GEANT#2"), ["10gbit"]);
    assert_eq!(
        (rates(&names[3], "GEANT#2"), rates("#4", &names[3])),
        (vec!["10gbit".to_owned()], vec!["34mbit".to_owned()])
    );
    assert_eq!(rates("None#6", "None"), ["2500mbit"]);
    // Not all nodes have coordinates: the link gets the default delay.
    assert!(
        links(&topology, "MIX", "GEANT")
            .iter()
            .all(|(_, delay)| *delay == FromFile::default().delay)
    );
    // The last two nodes are on an island.
    let node = |name: &str| topology.network.named(name).expect("a node");
    assert!(topology.network.route(node("MIX"), node("#4")).is_ok());
    assert!(topology.network.route(node("MIX"), node("None")).is_err());
}

/// Files from other systems: line ends with a carriage return, a byte order mark, blanks and tabs,
/// no end of the last line.
#[test]
fn files_of_other_systems_are_read() {
    let edges = "# from to rate\n\na\tb  10mbit 5ms\n  b c 1gbit\n";
    let weights =
        "Perth,+Australia1 Sydney,+Australia2 2.5\nSydney,+Australia2 Perth,+Australia1 2.5\n";
    let graphml = graphml();
    let maps = [
        (Format::EdgeList, edges),
        (Format::Gml, GML),
        (Format::GraphMl, graphml.as_str()),
        (Format::Rocketfuel, weights),
    ];
    for (format, text) in maps {
        let plain = read(format, text);
        let all = |topology: &Topology| {
            topology
                .network
                .links()
                .iter()
                .map(|link| (link.from, link.to, link.rate, link.delay))
                .collect::<Vec<_>>()
        };
        for other in [
            text.replace('\n', "\r\n"),
            format!("\u{feff}{text}"),
            text.trim_end().to_owned(),
        ] {
            let read = read(format, &other);
            assert_eq!(
                (routers(&read), all(&read)),
                (routers(&plain), all(&plain)),
                "{}",
                format.name()
            );
        }
    }
}

/// Rocketfuel's weights and latencies, with routes by weight: a route over three light links is
/// preferred to a heavy link. Weights have a line for each direction of a link; one line may be
/// enough for latencies, and lines may be in any order.
#[test]
fn rocketfuel_s_weights_choose_ways() {
    let both = |line: &str| {
        let [from, to, weight] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("three words")
        };
        format!("{from} {to} {weight}\n{to} {from} {weight}\n")
    };
    let lines = [
        "Oakland,+CA4050 Boston,+MA4041 9",
        "Oakland,+CA4050 Dallas,+TX4142 2.5",
        "Dallas,+TX4142 Miami,+FL4181 3",
        "Miami,+FL4181 Boston,+MA4041 3",
    ];
    let weights: String = lines.iter().map(|line| both(line)).collect();
    let latencies = "Miami,+FL4181 Boston,+MA4041 20\nDallas,+TX4142 Oakland,+CA4050 23\nOakland,+CA4050 Boston,+MA4041 43.5\n";
    let mut topology = try_read(Format::Rocketfuel, &weights, Some(latencies))
        .unwrap_or_else(|error| panic!("{error}"));
    let core = topology
        .network
        .links()
        .iter()
        .filter(|link| link.class == LinkClass::Core)
        .count();
    assert_eq!(core, 8, "each link once each way");
    let delay = |from, to| links(&topology, from, to)[0].1;
    assert_eq!(
        delay("Boston,+MA4041", "Oakland,+CA4050"),
        Duration::from_micros(43_500)
    );
    assert_eq!(
        (
            delay("Oakland,+CA4050", "Dallas,+TX4142"),
            delay("Dallas,+TX4142", "Miami,+FL4181")
        ),
        (Duration::from_millis(23), Duration::from_millis(1))
    );
    let hops = |topology: &Topology| {
        let node = |name: &str| topology.network.named(name).expect("a node");
        topology
            .network
            .route(node("Oakland,+CA4050"), node("Boston,+MA4041"))
            .expect("a route")
            .len()
    };
    assert_eq!(hops(&topology), 1, "by hops");
    topology.network.set_routing(Routing {
        metric: Metric::Cost,
        spread: None,
    });
    assert_eq!(hops(&topology), 3, "by weight: 8.5 before 9");
}
