//! Files of earlier versions, committed as they were written: every later version reads them. A file of
//! a format that this version does not know, older or newer, is refused with what reads it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn versions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/versions")
}

fn run(folder: &Path, words: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .args(words.split(' '))
        .current_dir(folder)
        .output()
        .expect("it runs")
}

/// Add a folder with a release's own files before its version goes up. Remove none.
#[test]
fn files_of_every_version_are_read() {
    let own = env!("CARGO_PKG_VERSION");
    assert!(versions().join(own).is_dir(), "no files of {own}");
    for entry in fs::read_dir(versions()).expect("a folder") {
        let folder = entry.expect("an entry").path();
        for (words, said) in [
            ("compare record.pcapng", "all the same in the replay"),
            ("verify record.pcapng", "all of it can be"),
            ("verify events.log", "all of it can be"),
            (
                "replay schedule.parquet --on network.toml --with lstf -q",
                "lstf replays the schedule",
            ),
            (
                "bench fifo --flows 8 --pairs 10 --rounds 1 --against measurements.json",
                "fifo",
            ),
        ] {
            let output = run(&folder, words);
            let told = String::from_utf8_lossy(&output.stderr);
            let all = String::from_utf8_lossy(&output.stdout);
            let name = folder.display();
            assert!(output.status.success(), "{name}: {words}: {told}");
            assert!(all.contains(said), "{name}: {words}: {all}");
        }
    }
}

#[test]
fn formats_before_and_after_this_are_refused_with_what_reads_them() {
    let folder = std::env::temp_dir().join(format!("roundelay-versions-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    for (file, known) in [("record.pcapng", 1), ("events.log", 4)] {
        let own = versions().join(env!("CARGO_PKG_VERSION")).join(file);
        let bytes = fs::read(own).expect("a file");
        let format = format!("\"format\":{known}");
        let found = bytes
            .windows(format.len())
            .position(|part| part == format.as_bytes());
        let digit = found.expect("a format") + format.len() - 1;
        for other in [known - 1, known + 1] {
            let mut changed = bytes.clone();
            changed[digit] = b'0' + other;
            fs::write(folder.join(file), changed).expect("a file");
            let output = run(&folder, &format!("verify {file}"));
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{told}");
            for part in [file, &format!("format {other}"), "this version reads"] {
                assert!(told.contains(part), "{part}: {told}");
            }
        }
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}
