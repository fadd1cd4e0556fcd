//! Each script of `tests/scripts` becomes the tree beside it, which `compare --tree` can read.
//!
//! `ROUNDELAY_WRITE=1` writes the trees again.

use std::fs;
use std::path::{Path, PathBuf};

use roundelay_import::{Imported, Settings, import};
use roundelay_trace::TreeFile;

/// The folder of scripts.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts")
}

/// Imports a script of the folder.
pub(crate) fn imported(script: &str, device: Option<&str>) -> Imported {
    let text = fs::read_to_string(folder().join(script)).expect("a script");
    let settings = Settings {
        name: script.to_owned(),
        device: device.map(str::to_owned),
        variables: Vec::new(),
        ..Settings::default()
    };
    import(&settings, &text).unwrap_or_else(|error| panic!("{error}"))
}

/// Reads a tree as `compare --tree` does.
pub(crate) fn read_back(tree: &str) -> Result<(), String> {
    match TreeFile::from_toml("tree.toml", tree) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn scripts_become_the_trees_beside_them() {
    let mut scripts = Vec::new();
    for entry in fs::read_dir(folder()).expect("scripts") {
        let path = entry.expect("a file").path();
        if path.extension().is_some_and(|extension| extension == "sh") {
            scripts.push(path);
        }
    }
    scripts.sort();
    for path in &scripts {
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let tree = imported(&name, None).tree;
        let expected = path.with_extension("toml");
        if std::env::var_os("ROUNDELAY_WRITE").is_some() {
            fs::write(&expected, &tree).expect("written");
        }
        let expected = fs::read_to_string(&expected).expect("a tree");
        assert_eq!(tree, expected, "{name}");
        if let Err(error) = read_back(&tree) {
            panic!("{name}: {error}\n{tree}");
        }
    }
    assert!(scripts.len() >= 20, "{} scripts", scripts.len());
}

#[test]
fn downloads_are_at_the_other_interface() {
    let up = imported("piece_of_cake.sh", Some("pppoe-wan"));
    assert!(
        up.tree
            .contains("cake linux bandwidth 18mbit besteffort nat wash overhead 34 mpu 68"),
        "{}",
        up.tree
    );
    assert!(
        up.remarks
            .iter()
            .any(|remark| remark.line == 13 && remark.text.contains("--dev ifb4pppoe-wan"))
    );
    assert_eq!(up.others, ["ifb4pppoe-wan"]);
    let down = imported("piece_of_cake.sh", Some("ifb4pppoe-wan"));
    assert!(
        down.tree
            .contains("cake linux bandwidth 95mbit besteffort ingress dual-dsthost nat"),
        "{}",
        down.tree
    );
    assert!(down.tree.contains("tree is of downloads"), "{}", down.tree);
}

#[test]
fn variables_of_the_caller_win() {
    let text = "RATE=10mbit\ntc qdisc add dev eth0 root cake bandwidth $RATE overhead $OVER\n";
    let mut settings = Settings {
        name: "own.sh".to_owned(),
        ..Settings::default()
    };
    let error = import(&settings, text)
        .expect_err("OVER is not set")
        .to_string();
    assert!(error.starts_with("own.sh:2: $OVER has no value"), "{error}");
    assert!(error.contains("--set OVER=VALUE"), "{error}");
    for (name, value) in [("RATE", "7mbit"), ("OVER", "18")] {
        settings.variables.push((name.to_owned(), value.to_owned()));
    }
    let tree = import(&settings, text).expect("a tree").tree;
    assert!(
        tree.contains("cake linux bandwidth 7mbit overhead 18"),
        "{tree}"
    );
}

#[test]
fn remarks_about_filters_are_of_the_interface() {
    let filter = "parent 1: protocol ip u32 match ip dport 80 0xffff flowid 1:1";
    let mut text = String::new();
    for device in ["eth0", "eth1"] {
        text += &format!("tc qdisc add dev {device} root handle 1: prio\n");
    }
    text += &format!("tc filter add dev eth1 {filter}\ntc filter add dev eth1 {filter}\n");
    for (device, lines) in [("eth0", vec![]), ("eth1", vec![4])] {
        let settings = Settings {
            device: Some(device.to_owned()),
            ..Settings::default()
        };
        let remarks = import(&settings, &text).expect("a tree").remarks;
        let mut found = Vec::new();
        for remark in remarks {
            if remark.text.contains("has no prio") {
                found.push(remark.line);
            }
        }
        assert_eq!(found, lines, "{device}");
    }
}

#[test]
fn errors_name_the_line_and_what_was_expected() {
    for (text, start, part) in [
        ("echo hello\n", "s: ", "tc qdisc add dev NAME root"),
        (
            "tc qdisc add dev eth0 root htb\ntc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit",
            "s:2: ",
            "expected one with handle 1:",
        ),
        (
            "tc qdisc add dev eth0 handle 1: root htb\ntc class add dev eth0 parent 1: classid 1:1 htb rate 10",
            "",
            "",
        ),
        (
            "tc qdisc add dev eth0 handle 1: root htb\ntc class add dev eth0 parent 1: classid 1:1 htb rate fast",
            "s:2: ",
            "expected a rate such as 20mbit",
        ),
        (
            "tc qdisc add dev eth0 handle 1: root htb\ntc class add dev eth0 parent 1: classid 1:1 htb ceil 1mbit",
            "s:2: ",
            "expected `rate 10mbit`",
        ),
        (
            "tc qdisc add dev eth0 root prio bands 99",
            "s:1: ",
            "1 to 16",
        ),
        (
            "tc qdisc add dev eth0 root prio\nif true; then",
            "s:2: ",
            "`fi` is expected",
        ),
    ] {
        let settings = Settings {
            name: "s".to_owned(),
            ..Settings::default()
        };
        match import(&settings, text) {
            Ok(_) => assert_eq!(part, "", "{text}"),
            Err(error) => {
                let error = error.to_string();
                assert!(
                    error.starts_with(start) && error.contains(part) && !part.is_empty(),
                    "{text}: {error}"
                );
            }
        }
    }
    let settings = Settings {
        name: "s".to_owned(),
        device: Some("eth7".to_owned()),
        ..Settings::default()
    };
    let error = import(&settings, "tc qdisc add dev eth0 root fq\n").expect_err("no eth7");
    assert_eq!(
        error.to_string(),
        "s: no interface is called 'eth7' (did you mean 'eth0'?): eth0"
    );
}
