//! `--anonymise`: no address and no path of the capture's owner is in what strangers get.

use std::collections::BTreeSet;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A folder with a telling name for one test, deleted on drop.
struct Folder(PathBuf);

/// A word of each path in the folder.
const OWNER: &str = "example-and-sons";

impl Folder {
    fn new(test: &str) -> Self {
        let name = format!("{OWNER}-{test}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let capture = root.join("examples/captures/home-both.pcap.gz");
        fs::copy(capture, path.join("office.pcap.gz")).unwrap();
        fs::write(path.join("key"), "000102030405060708090a0b0c0d0e0f\n").unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn compare(&self, arguments: &[&str]) -> Output {
        let capture = self.path("office.pcap.gz");
        let first = [
            "compare",
            &capture,
            "fifo",
            "drr",
            "--rate",
            "5mbit",
            "--no-cost",
        ];
        run(&[&first[..], arguments].concat())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .args(arguments)
        .output()
        .unwrap()
}

fn success(output: Output) -> String {
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// The words of a text that are addresses.
fn addresses(text: &str) -> BTreeSet<IpAddr> {
    let mut found = BTreeSet::new();
    for word in text.split(|c: char| !(c.is_ascii_hexdigit() || matches!(c, '.' | ':'))) {
        let word = word.trim_end_matches(['.', ':']);
        let address = word.split(':').next().unwrap_or_default();
        found.extend(word.parse::<IpAddr>().or_else(|_| address.parse()));
    }
    found
}

/// The names of the flows in a result's JSON.
fn labels(json: &str) -> Vec<String> {
    let json: Value = serde_json::from_str(json).unwrap();
    let mut labels = Vec::new();
    for flow in json["flows"].as_array().unwrap() {
        labels.push(flow["label"].as_str().unwrap().to_owned());
    }
    labels
}

#[test]
fn no_output_has_an_address_or_a_path_of_the_owner() {
    let folder = Folder::new("outputs");
    let filter = ["--filter", "not src host 172.16.3.9"];
    let open = success(folder.compare(&[&filter[..], &["--json"]].concat()));
    let known = addresses(&open);
    assert!(
        known.len() >= 4 && open.contains(OWNER),
        "the test can fail: {known:?}"
    );
    let [html, csv, markdown, key] =
        ["page.html", "csv", "report.md", "key"].map(|name| folder.path(name));
    let tree = folder.path("office-tree.toml");
    fs::write(
        &tree,
        "[[node]]\nname = 'root'\ndiscipline = 'drr'\n[[node]]\nname = 'all'\nparent = 'root'\ndiscipline = 'fifo'\ndefault = true\n",
    )
    .unwrap();
    let hidden = ["--anonymise", "--anonymise-key", &key, "--tree", &tree];
    let files = ["--html", &html, "--csv", &csv, "--markdown", &markdown];
    let capture = folder.path("office.pcap.gz");
    let mut texts = vec![
        success(folder.compare(&[&filter[..], &hidden, &files, &["--wide"]].concat())),
        success(folder.compare(&[&hidden[..], &["--direction", "both"]].concat())),
        success(folder.compare(&[&filter[..], &hidden, &["--json"]].concat())),
        success(run(&["applications", &capture, "--anonymise"])),
    ];
    for file in [html, format!("{csv}/flows.csv"), markdown] {
        texts.push(fs::read_to_string(file).unwrap());
    }
    for (number, text) in texts.iter().enumerate() {
        let owners: Vec<_> = addresses(text).intersection(&known).copied().collect();
        assert!(owners.is_empty(), "{number}: {owners:?}");
        for word in [OWNER, "office.pcap", folder.0.to_str().unwrap()] {
            assert!(!text.contains(word), "{number}: {word}");
        }
    }
    // The figures are those of the same capture.
    assert_eq!(labels(&texts[2]).len(), labels(&open).len());
    let figures = |json: &str| {
        let json: Value = serde_json::from_str(json).unwrap();
        json["disciplines"][1]["total"].clone()
    };
    assert_eq!(figures(&texts[2]), figures(&open));
}

#[test]
fn senders_that_react_have_no_names_of_the_owner() {
    let folder = Folder::new("react");
    let react = ["--react", "--replicas", "2", "--quiet"];
    let html = folder.path("page.html");
    let hidden = ["--anonymise", "--html", &html];
    let text = success(folder.compare(&[&react[..], &hidden].concat()));
    let page = fs::read_to_string(html).unwrap();
    let open = success(folder.compare(&react));
    assert!(open.contains("office.pcap"), "the test can fail");
    assert!(!text.contains("office") && !page.contains("office") && !page.contains(OWNER));
    let known = addresses(&open);
    assert!(!known.is_empty(), "the test can fail");
    for told in [&text, &page] {
        let owners: Vec<_> = addresses(told).intersection(&known).copied().collect();
        assert!(owners.is_empty(), "{owners:?}");
    }
}

#[test]
fn a_key_gives_the_same_addresses_again_and_none_others() {
    let folder = Folder::new("key");
    let key = folder.path("key");
    let with =
        |arguments: &[&str]| labels(&success(folder.compare(&[arguments, &["--json"]].concat())));
    let first = with(&["--anonymise-key", &key]);
    assert_eq!(first, with(&["--anonymise-key", &key, "--anonymise"]));
    let random = with(&["--anonymise"]);
    assert_ne!(first, random);
    assert_ne!(random, with(&["--anonymise"]));
    assert_ne!(first, with(&[]));
}

#[test]
fn what_is_no_key_is_refused() {
    let folder = Folder::new("wrong");
    for (text, says) in [
        ("00ff", "32 hexadecimal digits"),
        ("+0102030405060708090a0b0c0d0e0f0", "wrong:1: no key"),
    ] {
        let file = folder.path("wrong");
        fs::write(&file, text).unwrap();
        let output = folder.compare(&["--anonymise-key", &file]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("wrong") && told.contains(says), "{told}");
    }
    let output = folder.compare(&["--anonymise-key", &folder.path("none")]);
    assert_eq!(output.status.code(), Some(2));
}
