//! The recorder writes what a script would have run, and fails where the program would.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;

use roundelay_import::RECORDER;

/// A folder with the recorder, which goes with this.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("recorder-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).expect("a folder");
        let tc = folder.join("tc");
        fs::write(&tc, RECORDER).expect("written");
        fs::set_permissions(&tc, fs::Permissions::from_mode(0o755)).expect("permissions");
        for name in ["nft", "iptables-restore"] {
            symlink("tc", folder.join(name)).expect("a link");
        }
        fs::write(
            folder.join("rules.nft"),
            "add rule ip fw post mark set $x\n",
        )
        .expect("written");
        fs::write(folder.join("batch"), "qdisc add dev eth0 root fq\n").expect("written");
        Self(folder)
    }

    /// What a script records.
    fn recorded(&self, script: &str) -> String {
        let log = self.0.join("log");
        drop(fs::remove_file(&log));
        let status = Command::new("sh")
            .args(["-c", &format!("PATH=.:$PATH; {script}")])
            .current_dir(&self.0)
            .env("ROUNDELAY_RECORD", &log)
            .stderr(std::process::Stdio::null())
            .status()
            .expect("a shell");
        assert!(status.success(), "{script}: {status}");
        fs::read_to_string(&log).unwrap_or_default()
    }
}

#[test]
fn files_of_nft_are_recorded_whole() {
    let folder = Folder::new("files");
    let rules = "-f - <<'END_OF_RULES'\nadd rule ip fw post mark set $x\n\nEND_OF_RULES\n";
    for words in [
        "-f rules.nft",
        "-frules.nft",
        "-nf rules.nft",
        "-a -f rules.nft",
        "--file rules.nft",
        "--file=rules.nft",
        "-I /etc -f rules.nft",
        "-f - < rules.nft",
    ] {
        let recorded = folder.recorded(&format!("nft {words}"));
        assert_eq!(recorded, format!("nft {rules}"), "{words}");
    }
    let recorded = folder.recorded("nft --define x=1 -f rules.nft");
    assert_eq!(recorded, format!("nft -D x=1 {rules}"));
    for command in ["nft -c -f rules.nft", "nft -a add rule ip fw post -f x"] {
        assert_eq!(folder.recorded(command), format!("{command}\n"));
    }
}

#[test]
fn rules_that_are_restored_are_recorded_whole() {
    let folder = Folder::new("restored");
    for (words, options) in [
        ("rules.nft", ""),
        ("< rules.nft", ""),
        ("-n < rules.nft", " -n"),
        ("--noflush rules.nft", " --noflush"),
        ("-w 5 rules.nft", " -w 5"),
        ("-w rules.nft", " -w"),
        ("-w 5 --noflush < rules.nft", " -w 5 --noflush"),
        ("--wait=5 -W 100 < rules.nft", " --wait=5 -W 100"),
        ("-T mangle rules.nft", " -T mangle"),
        ("--table mangle < rules.nft", " --table mangle"),
        ("-M /sbin/modprobe < rules.nft", " -M /sbin/modprobe"),
        ("-nT mangle - < rules.nft", " -nT mangle"),
    ] {
        let recorded = folder.recorded(&format!("iptables-restore {words}"));
        let expected = format!(
            "iptables-restore{options} <<'END_OF_RULES'\nadd rule ip fw post mark set $x\n\n\
             END_OF_RULES\n"
        );
        assert_eq!(recorded, expected, "{words}");
    }
    for words in ["-t < rules.nft", "-nt rules.nft", "--version", "-h"] {
        let recorded = folder.recorded(&format!("iptables-restore {words}"));
        assert_eq!(recorded, "", "{words}");
    }
}

#[test]
fn a_file_that_is_missing_is_an_error_for_the_script() {
    let folder = Folder::new("missing");
    for command in [
        "nft -f none",
        "nft -cf none",
        "nft --file=none",
        "tc -batch none",
    ] {
        let recorded = folder.recorded(&format!("{command} || tc -batch batch"));
        assert_eq!(recorded, "tc qdisc add dev eth0 root fq\n", "{command}");
    }
}
