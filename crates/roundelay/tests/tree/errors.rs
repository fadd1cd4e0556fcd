//! Invalid trees: the error names the node, and the tree is unchanged.

use roundelay::FlowId;
use roundelay::Seed;
use roundelay::tree::{Config, Node, Problem, TreeError};

use super::plans::{idling, node, of_htb, rated, weighted};

fn link() -> Config {
    let mut plan = Config::new(node("link", "wf2q_plus")).unwrap();
    plan.add_leaf("link", node("leaf", "fifo")).unwrap();
    plan.set_default("leaf").unwrap();
    plan
}

#[track_caller]
fn refuses(node: &str, problem: &Problem, outcome: Result<(), TreeError>) {
    let error = outcome.unwrap_err();
    assert_eq!((error.node.as_str(), &error.problem), (node, problem));
    assert!(error.to_string().contains(node), "{error}");
}

#[test]
fn nodes_are_checked_as_they_are_added() {
    let mut plan = link();
    let before = format!("{plan:?}");
    refuses(
        "leaf",
        &Problem::NameTaken,
        plan.add_leaf("link", node("leaf", "fifo")),
    );
    refuses(
        "link",
        &Problem::NameTaken,
        plan.add_class("link", node("link", "wf2q_plus")),
    );
    refuses(
        "x",
        &Problem::UnknownParent {
            parent: "lnk".to_owned(),
        },
        plan.add_leaf("lnk", node("x", "fifo")),
    );
    refuses(
        "x",
        &Problem::ParentIsLeaf,
        plan.add_leaf("leaf", node("x", "fifo")),
    );
    refuses(
        "x",
        &Problem::NotInterior { discipline: "fifo" },
        plan.add_class("link", node("x", "fifo")),
    );
    refuses(
        "x",
        &Problem::LimitOfClass,
        plan.add_class("link", node("x", "wf2q_plus limit 10")),
    );
    refuses(
        "",
        &Problem::BadName,
        plan.add_leaf("link", node("", "fifo")),
    );
    refuses(
        "leaf",
        &Problem::IsClass,
        plan.set_default("link").map_err(|error| TreeError {
            node: "leaf".to_owned(),
            ..error
        }),
    );
    refuses(
        "nobody",
        &Problem::Unknown,
        plan.assign(FlowId(0), "nobody"),
    );
    refuses("nobody", &Problem::Unknown, plan.set_default("nobody"));
    refuses(
        "fifo",
        &Problem::NotInterior { discipline: "fifo" },
        Config::new(node("fifo", "fifo")).map(|_| ()),
    );
    assert_eq!(format!("{plan:?}"), before, "a refusal changes nothing");
}

#[test]
fn values_out_of_range_name_node_and_range() {
    for (made, value) in [
        (weighted("x", "fifo", 0), "weight 0"),
        (weighted("x", "fifo", 1025), "weight 1025"),
        (
            Node {
                max_packet_len: 511,
                ..node("x", "fifo")
            },
            "maxpkt 511",
        ),
        (
            Node {
                max_packet_len: 65_537,
                ..node("x", "fifo")
            },
            "maxpkt 65537",
        ),
    ] {
        let error = link().add_leaf("link", made).unwrap_err().to_string();
        assert!(
            error.contains("node 'x'") && error.contains(value) && error.contains("legal range"),
            "{error}"
        );
    }
}

#[test]
fn a_tree_has_eight_levels_at_most() {
    let mut plan = Config::new(node("0", "wf2q_plus")).unwrap();
    for level in 1..Config::MOST_LEVELS {
        plan.add_class(
            &(level - 1).to_string(),
            node(&level.to_string(), "wf2q_plus"),
        )
        .unwrap();
    }
    plan.add_leaf("7", node("leaf", "fifo")).unwrap();
    plan.add_class("7", node("8", "wf2q_plus")).unwrap();
    refuses(
        "9",
        &Problem::TooDeep,
        plan.add_leaf("8", node("9", "fifo")),
    );
    plan.set_default("leaf").unwrap();
    assert!(plan.build_tree::<()>(Seed::new(1)).is_ok());
}

#[test]
fn a_tree_needs_a_default_leaf() {
    let plan = Config::new(node("link", "wf2q_plus")).unwrap();
    refuses(
        "link",
        &Problem::NoDefault,
        plan.build_tree::<()>(Seed::new(1)).map(|_| ()),
    );
}

#[test]
fn only_what_can_be_a_class_is_offered() {
    let error = link()
        .add_class("link", node("x", "fq_codel"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("wf2q_plus") && !error.contains("fifo"),
        "{error}"
    );
}

/// Classes of HTB have rates, and are below nodes of HTB.
#[test]
fn classes_of_htb_are_checked_as_they_are_added() {
    let (_, mut plan) = idling().swap_remove(0);
    let before = format!("{plan:?}");
    let htb = "htb";
    refuses(
        "x",
        &Problem::NoService { discipline: htb },
        plan.add_leaf("near", node("x", "fifo")),
    );
    refuses(
        "x",
        &Problem::NoClassOf { discipline: htb },
        plan.add_leaf("shares", rated("x", "fifo", "1mbit", "1mbit")),
    );
    refuses(
        "x",
        &Problem::NoLeaf { discipline: htb },
        plan.add_leaf("near", of_htb(rated("x", "drr", "1mbit", "1mbit"))),
    );
    refuses(
        "x",
        &Problem::NoClassOf { discipline: htb },
        Config::new(of_htb(rated("x", "drr", "1mbit", "1mbit"))).map(|_| ()),
    );
    let slow = plan.add_leaf("near", rated("x", "fifo", "7bit", "1mbit"));
    let error = slow.unwrap_err().to_string();
    assert!(
        error.contains("node 'x'") && error.contains("8bit to 100tbit"),
        "{error}"
    );
    assert_eq!(format!("{plan:?}"), before, "a refusal changes nothing");
    let named = "htb"
        .parse::<roundelay::QueueSpec>()
        .unwrap_err()
        .to_string();
    assert!(named.contains("a class of a tree"), "{named}");
}
