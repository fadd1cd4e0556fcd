//! OpenWrt's file of SQM becomes what SQM sets up for it.

use roundelay_import::{Imported, Settings, import};

const SQM: &str = "
config queue 'eth1'
	option enabled '1'
	option interface 'eth1'
	option download '90000'
	option upload '18000'
	option script 'layer_cake.qos'
	option qdisc 'cake'
	option qdisc_advanced '1'
	option squash_dscp '1'
	option squash_ingress '0'
	option qdisc_really_really_advanced '1'
	option iqdisc_opts 'nat dual-dsthost ingress'
	option eqdisc_opts 'nat dual-srchost ack-filter'
	option linklayer 'ethernet'
	option overhead '44'
	option autorate '1'
";

fn read(text: &str, device: Option<&str>) -> Imported {
    let settings = Settings {
        name: "sqm".to_owned(),
        device: device.map(str::to_owned),
        ..Settings::default()
    };
    import(&settings, text).unwrap_or_else(|error| panic!("{error}"))
}

fn error(text: &str) -> String {
    let settings = Settings {
        name: "sqm".to_owned(),
        ..Settings::default()
    };
    import(&settings, text).expect_err("a fault").to_string()
}

#[test]
fn both_directions_of_sqm_are_there() {
    let up = read(SQM, None);
    assert_eq!(up.device, "eth1");
    assert_eq!(up.others, ["ifb4eth1"]);
    for word in [
        "cake linux bandwidth 18mbit",
        "diffserv3",
        "dual-srchost",
        "overhead 44",
        "ack-filter",
    ] {
        assert!(up.tree.contains(word), "{word}: {}", up.tree);
    }
    let told = |imported: &Imported, part| {
        let mut remarks = imported.remarks.iter();
        remarks.any(|remark| remark.text.contains(part))
    };
    assert!(told(&up, "import its tree with --dev ifb4eth1"));
    assert!(!told(&up, "only what leaves"), "{:?}", up.remarks);
    let upload_alone = read(&SQM.replace("'90000'", "'0'"), None);
    assert!(told(&upload_alone, "only what leaves"));
    let down = read(SQM, Some("ifb4eth1"));
    for word in [
        "cake linux bandwidth 90mbit",
        "diffserv3",
        "dual-dsthost",
        "ingress",
        "wash",
    ] {
        assert!(down.tree.contains(word), "{word}: {}", down.tree);
    }
    let unknown = up
        .remarks
        .iter()
        .find(|remark| remark.text.contains("autorate"));
    assert_eq!(unknown.expect("a remark").line, 17);
}

#[test]
fn each_script_is_what_it_sets_up() {
    let with = |from: &str, to: &str| {
        let text = SQM.replace(from, to);
        assert_ne!(text, SQM);
        text
    };
    let ignored = read(
        &with("squash_ingress '0'", "squash_ingress '1'"),
        Some("ifb4eth1"),
    );
    assert!(ignored.tree.contains("besteffort"), "{}", ignored.tree);
    let plain = with("layer_cake", "piece_of_cake")
        .replace("qdisc_really_really_advanced '1'", "debug_logging '0'");
    let plain = read(&plain, None).tree;
    assert!(
        plain.contains("besteffort") && !plain.contains("dual-srchost"),
        "{plain}"
    );
    let simplest = "config queue\n option interface wan\n option upload 18000\n option script \
                    simplest.qos\n option qdisc fq_codel\n option linklayer atm\n option overhead 40\n";
    let read_simplest = read(simplest, None);
    let tree = &read_simplest.tree;
    for word in ["htb", "18mbit", "fq_codel linux", "noecn"] {
        assert!(tree.contains(word), "{word}: {tree}");
    }
    let said: Vec<&str> = read_simplest
        .remarks
        .iter()
        .map(|remark| remark.text.as_str())
        .collect();
    let lengths = said
        .iter()
        .any(|text| text.contains("--framing atm --overhead 40"));
    let unshaped = said
        .iter()
        .any(|text| text.contains("ifb4wan: a rate of 0"));
    assert!(lengths && unshaped, "{said:?}");
    let tbf = simplest.replace("simplest.qos", "simplest_tbf.qos");
    assert!(read(&tbf, None).tree.contains("tbf"));
}

#[test]
fn what_the_file_does_not_tell_is_an_error_with_its_line() {
    for (from, to, said) in [
        (
            "layer_cake.qos",
            "simple.qos",
            "sqm:7: option script 'simple.qos'",
        ),
        (
            "option interface 'eth1'",
            "",
            "sqm:2: a queue without an interface",
        ),
        (
            "'18000'",
            "'18mbit'",
            "sqm:6: option upload '18mbit': expected kilobits",
        ),
        ("dual-srchost", "dual-src-host", "sqm:2: "),
    ] {
        let text = SQM.replace(from, to);
        assert_ne!(text, SQM);
        let told = error(&text);
        assert!(told.contains(said), "{told}");
    }
}

/// Formerly such a queue was compared as if it were there.
#[test]
fn a_queue_that_is_not_enabled_is_a_reserve() {
    let off = read(&SQM.replace("enabled '1'", "enabled '0'"), None);
    let reserve =
        "reserve = [\n    \"line 3: eth1 is not enabled: all of this is left out by SQM\"";
    assert!(off.tree.contains(reserve), "{}", off.tree);
    assert!(!read(SQM, None).tree.contains("not enabled"));
}
