//! Words that mean something else than they look like are explained, at their line.

use roundelay_import::{Settings, import};

use crate::scripts::imported;

#[test]
fn traps_are_explained_at_their_lines() {
    let mut missing = Vec::new();
    for (script, line, part) in [
        ("traps.sh", 2, "`default 99` names no class that sends"),
        ("traps.sh", 2, "only what leaves eth0 is shaped"),
        ("traps.sh", 3, "10mbps is 80mbit"),
        ("traps.sh", 3, "the rates of the classes below are"),
        ("traps.sh", 4, "ceil 30mbit is less than rate 60mbit"),
        ("traps.sh", 4, "burst 1000 is less than a packet"),
        ("traps.sh", 5, "never borrows"),
        (
            "traps.sh",
            6,
            "r2q: the quantum of 10kbit over r2q 10 is 125 bytes",
        ),
        ("traps.sh", 7, "fq_codel is below netem"),
        ("traps.sh", 8, "fq_codel limit 20"),
        ("traps.sh", 9, "inside a class of htb that shapes"),
        ("traps.sh", 11, "class 1:77, which is not there"),
        ("traps.sh", 11, "has no prio, so Linux tries it before"),
        ("traps.sh", 13, "left out: 1 tc command"),
        ("wonder_shaper.sh", 15, "two bits of ECN"),
        ("wonder_shaper.sh", 26, "policed"),
        ("wonder_shaper.sh", 13, "sfq perturb"),
        ("simple.sh", 30, "marks are not in packets"),
        ("layer_cake.sh", 2, "--overhead 58 --mpu 0 --framing atm"),
        ("simplest_tbf.sh", 3, "latency of tbf is left out"),
        ("prio_tbf.sh", 2, "priomap"),
        ("drr.sh", 2, "Linux drops a packet that no filter"),
        ("libreqos.sh", 6, "htb at 7fff:2 is left out"),
        (
            "hfsc_no_default.sh",
            2,
            "Linux drops packets that no filter matches",
        ),
        ("hfsc_no_default.sh", 3, "share nothing"),
        (
            "server_fq.sh",
            3,
            "no packet of a capture has a time to leave",
        ),
        ("recorded.sh", 8, "`at` of u32 is not understood"),
        ("qosmate.sh", 11, "with rt and no ls"),
    ] {
        let remarks = imported(script, None).remarks;
        let is_there = remarks
            .iter()
            .any(|remark| remark.line == line && remark.text.contains(part));
        if !is_there {
            missing.push(format!("{script}:{line}: {part}\n{remarks:#?}"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// Formerly a script that can show its queues was said to lack something.
#[test]
fn commands_that_only_list_are_not_left_out() {
    let script = "case \"$1\" in\n\
                  status) tc -s qdisc ls dev eth0; tc -s class show dev eth0;;\n\
                  esac\n\
                  tc qdisc add dev eth0 root sfq perturb 10\n";
    let settings = Settings {
        name: "mine.sh".to_owned(),
        ..Settings::default()
    };
    let imported = import(&settings, script).expect("a tree");
    assert!(imported.tree.contains("sfq"), "{}", imported.tree);
    assert!(!imported.tree.contains("reserve"), "{}", imported.tree);
}
