//! `roundelay import --run`: a real script runs in a sandbox, and attacks the sandbox in vain.

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use serde_json::Value;

/// A folder of our own below the home of this test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("import-run-{name}-{}", std::process::id()));
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(folder.join("home/scripts")).expect("a folder");
    folder
}

fn script(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("home/scripts/start.sh");
    fs::write(&path, text).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    path
}

/// Runs the command as root of the machine, or as root of a user namespace with a single user, which
/// an ordinary user may be. None if there are no namespaces here.
fn run(folder: &Path, is_plain: bool, words: &[&str]) -> Option<Output> {
    let roundelay = env!("CARGO_BIN_EXE_roundelay");
    let attack = folder.join("home/scripts/attack");
    // The caller has a key of its own.
    let mut command = if attack.exists() {
        let mut caller = Command::new(attack);
        caller.args(["plant", "env"]);
        caller
    } else {
        Command::new("env")
    };
    if !is_plain {
        command.args(["unshare", "--user", "--map-root-user"]);
    }
    command.arg(roundelay);
    let output = command
        .args(["import", "--run"])
        .args(words)
        .env("HOME", folder.join("home"))
        .current_dir(folder.join("home/scripts"))
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("no sandbox here") || said.contains("unshare:") {
        println!("no namespaces here: {said}");
        return None;
    }
    Some(output)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// As a router's script is: its functions lie beside it, what it does hangs on an argument and on the
/// machine, it calls tc by several ways, and it does not check whether it is alone.
const ROUTER: &str = r#"#!/bin/bash
. ./functions.sh
[ "$(id -u)" -eq 0 ] || { echo "not root"; exit 1; }
exec 200> /var/run/router.lock && mkdir /run/router /var/router || exit 9
opts=(besteffort "overhead" 18)
RATE=$(uci -q get sqm.eth1.upload) || RATE=20000
start() {
    modprobe ifb
    ip link add name ifb0 type ifb
    ip link set dev ifb0 up || exit 1
    $TC qdisc add dev eth1 root handle 1: htb default 12
    $TC class add dev eth1 parent 1: classid 1:1 htb rate ${RATE}kbit
    [[ $? -ne 0 ]] && exit 1
    printf 'class add dev eth1 parent 1:1 classid 1:%s htb rate 5mbit ceil 20mbit\n' 11 12 |
        tc -batch -
    for class in $(echo 11 12 | awk '{print $1, $2}'); do
        $TC qdisc add dev eth1 parent 1:$class fq_codel limit 1001
    done
    $TC qdisc add dev ifb0 root cake bandwidth 90mbit "${opts[@]}"
    iptables -t mangle -A POSTROUTING -o eth1 -j MARK --set-mark "0x1" -m comment --comment "it's"
    nft -f marks.nft && $TC filter add dev eth1 parent 1: handle 2 fw classid 1:11
}
case $1 in
    start) start ;;
    *) echo "usage: $0 start"; exit 2 ;;
esac
"#;

/// Rules of nft in a file beside it.
const MARKS: &str = "table inet games {
    chain post {
        type filter hook postrouting priority mangle; policy accept;
        udp dport 3074 meta mark set 2
    }
}
";

#[test]
fn a_script_that_cannot_be_followed_is_run_and_recorded() {
    for is_plain in [true, false] {
        let folder = folder("router");
        script(&folder, ROUTER);
        let tc = Command::new("sh").args(["-c", "command -v tc"]).output();
        let tc = text(&tc.expect("a shell").stdout);
        let tc = if tc.is_empty() { "tc" } else { tc.trim() };
        fs::write(
            folder.join("home/scripts/functions.sh"),
            format!("TC={tc}\n"),
        )
        .expect("written");
        fs::write(folder.join("home/scripts/marks.nft"), MARKS).expect("written");
        let Some(output) = run(&folder, is_plain, &["--", "./start.sh", "start"]) else {
            return;
        };
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        for part in [
            "./start.sh start: ran in a sandbox, which carried none of these out:",
            "ip link set dev ifb0 up",
            "tc class add dev eth1 parent 1:1 classid 1:12 htb rate 5mbit ceil 20mbit",
            r"--comment 'it'\''s'",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let tree = text(&output.stdout);
        for part in [
            "rate = \"20mbit\"",
            "name = \"1:12\"",
            "flows = [\"udp and dst port 3074\"]",
            "Other interfaces: ifb0.",
            "# Interface eth1 of ./start.sh start (recorded).",
            " of the recording.",
        ] {
            assert!(tree.contains(part), "{part}: {tree}");
        }
        let words = ["--json", "--dev", "ifb0", "--", "bash", "start.sh", "start"];
        let output = run(&folder, is_plain, &words).expect("as before");
        let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let tree = all["tree"].as_str().expect("a tree");
        assert!(
            tree.contains("cake linux bandwidth 90mbit besteffort"),
            "{tree}"
        );
        let recorded = all["recorded"].as_str().expect("commands");
        assert!(
            recorded.contains("\ntc qdisc add dev ifb0 root cake"),
            "{recorded}"
        );
        drop(fs::remove_dir_all(&folder));
    }
}

/// Builds what attacks by calls of the system beside the script, where there is a C compiler. A script
/// may bring any program along.
fn build_attack(folder: &Path) -> bool {
    let built = Command::new("cc")
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
        .arg(folder.join("home/scripts/attack"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sandbox/attack.c"))
        .output();
    match built {
        Ok(output) => {
            assert!(output.status.success(), "{}", text(&output.stderr));
            true
        }
        Err(error) => {
            println!("not built: no C compiler `cc`: {error}");
            false
        }
    }
}

/// What a script must not be able to do. Each line says a word when it succeeds.
const ATTACKS: &str = r#"#!/bin/bash
touch /etc/attacked /usr/attacked ./attacked 2>/dev/null && echo WROTE
{ echo x > start.sh; } 2>/dev/null && echo WROTE-ITSELF
{ echo x > ../attacked; } 2>/dev/null
cat ../secret 2>/dev/null && echo READ-HOME
umount "$(cd .. && pwd)" 2>/dev/null && echo UNMOUNTED
umount -l /tmp 2>/dev/null && echo UNMOUNTED-TMP
mount -o remount,rw / 2>/dev/null && echo REMOUNTED
mount -t tmpfs none /mnt 2>/dev/null && echo MOUNTED
unshare --user --map-root-user --mount true 2>/dev/null && echo NAMESPACE
mknod /tmp/disk b 8 0 2>/dev/null && echo DEVICE
{ echo 1 > /proc/sys/kernel/sysrq; } 2>/dev/null && echo SYSCTL
{ echo x > /proc/sysrq-trigger; } 2>/dev/null && echo SYSRQ
ls /dev/sd* /dev/vd* /dev/nvme* /dev/mem /dev/kmsg 2>/dev/null && echo DISKS
{ exec 9<>/dev/tcp/127.0.0.1/PORT; } 2>/dev/null && echo NETWORK
kill -9 OUTSIDE 2>/dev/null && echo KILLED
kill -9 1 2>/dev/null; kill -0 1 2>/dev/null && echo first lives
grep -q 0000000000000000 <(grep CapEff /proc/self/status) || echo RIGHTS
[ -t 0 ] && echo TERMINAL
ls /var/lib /var/log >/dev/null 2>&1 && echo DATA
ls /proc | grep -c '^[0-9]' | grep -qE '^.$|^1.$' || echo PROCESSES
{ echo 0 > /proc/self/oom_score_adj; } 2>/dev/null && echo PROC
head -c 1 /etc/shadow 2>/dev/null | grep -q . && echo SECRETS
for way in key shared message file socket trace; do ./attack $way; done 2>/dev/null
echo "users: $(id -u)"
tc qdisc add dev eth0 root fq_codel
exit 3
"#;

#[test]
fn a_script_can_do_nothing_outside() {
    for is_plain in [true, false] {
        let folder = folder("attack");
        fs::write(folder.join("home/secret"), "s3cret").expect("written");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its port").port();
        let mut bystander = Command::new("sleep").arg("600").spawn().expect("it runs");
        let attacks = ATTACKS
            .replace("PORT", &port.to_string())
            .replace("OUTSIDE", &bystander.id().to_string());
        let path = script(&folder, &attacks);
        build_attack(&folder);
        let output = run(&folder, is_plain, &["--", "./start.sh"]);
        let is_alive = bystander.try_wait().expect("a child of ours").is_none();
        drop(bystander.kill());
        _ = bystander.wait();
        assert!(is_alive, "a process outside was killed");
        let Some(output) = output else {
            return;
        };
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("exit status: 3"), "{said}");
        assert!(said.contains("first lives\n"), "{said}");
        // Nothing else but what is not in capitals.
        let bad = said.lines().filter(|line| {
            let word = line.trim();
            word.len() > 3
                && word
                    .chars()
                    .all(|letter| letter.is_ascii_uppercase() || letter == '-')
        });
        assert_eq!(bad.collect::<Vec<_>>(), [""; 0], "{said}");
        assert!(said.contains("users: 0"), "{said}");
        assert!(text(&output.stdout).contains("fq_codel"));
        assert_eq!(fs::read_to_string(&path).expect("the script"), attacks);
        for place in ["home/attacked", "home/scripts/attacked"] {
            assert!(!folder.join(place).exists());
        }
        for place in ["/etc/attacked", "/usr/attacked"] {
            assert!(!Path::new(place).exists());
        }
        drop(fs::remove_dir_all(&folder));
    }
}

/// What a script does, what is said about its end, and what is still recorded.
const GREEDY: [(&str, &str, &str); 5] = [
    ("sleep 1000", "it was ended after 10 s", "long"),
    (
        "yes",
        "it was ended because it wrote more than 1 MB",
        "output",
    ),
    (
        "for i in 1 2 3 4; do (x=$(head -c 200000000 /dev/zero | tr '\\0' x); sleep 60) & done; wait",
        "it was ended because it took more than 512 MB",
        "memory",
    ),
    ("bomb() { bomb | bomb & }; bomb; sleep 2", "", "bomb"),
    (
        "head -c 100000000 /dev/zero > /tmp/big",
        "exit status: 1",
        "file",
    ),
];

/// Many a script ends its helpers so. The group is the sandbox's own.
#[test]
fn a_signal_to_the_whole_group_stays_inside() {
    for is_plain in [true, false] {
        let folder = folder("group");
        script(
            &folder,
            "#!/bin/sh\ntc qdisc add dev eth0 root fq_codel\nkill -9 0\n",
        );
        let Some(output) = run(&folder, is_plain, &["--", "./start.sh"]) else {
            return;
        };
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("it ended with signal: 9"), "{said}");
        drop(fs::remove_dir_all(&folder));
    }
}

#[test]
fn commands_that_are_missing_are_told() {
    let folder = folder("many");
    script(
        &folder,
        "#!/bin/bash\ntc qdisc add dev eth0 root fq_codel\n\
         for i in 1 2 3; do head -c 2000000 /dev/zero | tr '\\0' '#'; echo; done | sed 's/^/x /' | tc -batch -\n",
    );
    if let Some(output) = run(&folder, true, &["--", "./start.sh"]) {
        let said = text(&output.stderr);
        let part = "its commands take more than 4 MB, and the rest of them is missing";
        assert!(said.contains(part), "{:?}", said.lines().last());
    }
    drop(fs::remove_dir_all(&folder));
}

#[test]
fn memory_that_nobody_seems_to_have_counts() {
    let folder = folder("leader");
    script(&folder, "#!/bin/sh\n./attack leader\n");
    if build_attack(&folder)
        && let Some(output) = run(&folder, true, &["--", "./start.sh"])
    {
        let said = text(&output.stderr);
        let part = "it was ended because it took more than 512 MB";
        assert!(said.contains(part), "{said}");
    }
    drop(fs::remove_dir_all(&folder));
}

#[test]
fn a_script_ends_within_its_limits() {
    for (greed, said, name) in GREEDY {
        let folder = folder(name);
        script(
            &folder,
            &format!("#!/bin/bash\ntc qdisc add dev eth0 root fq_codel\n{greed}\n"),
        );
        let begun = Instant::now();
        let Some(output) = run(&folder, true, &["--", "./start.sh"]) else {
            return;
        };
        assert!(
            begun.elapsed().as_secs() < 60,
            "{name}: {:?}",
            begun.elapsed()
        );
        let heard = text(&output.stderr);
        assert!(heard.contains(said), "{name}: {heard}");
        assert!(heard.len() < 40_000, "{name}: {} bytes", heard.len());
        assert!(text(&output.stdout).contains("fq_codel"), "{name}: {heard}");
        drop(fs::remove_dir_all(&folder));
    }
}

/// Where namespaces are forbidden, the recorder is printed, and records by hand what the sandbox
/// would record.
#[test]
fn without_namespaces_the_recorder_is_shown() {
    let folder = folder("forbidden");
    script(&folder, "#!/bin/sh\ntc qdisc add dev eth0 root cake\n");
    let forbid = "echo 0 > /proc/sys/user/max_user_namespaces; \"$0\" import --run -- ./start.sh";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "sh", "-c", forbid])
        .arg(env!("CARGO_BIN_EXE_roundelay"))
        .current_dir(folder.join("home/scripts"))
        .output();
    let said = match output {
        Ok(output) if !text(&output.stderr).contains("unshare:") => {
            assert_eq!(output.status.code(), Some(1));
            text(&output.stderr)
        }
        _ => return,
    };
    assert!(said.contains("no sandbox here"), "{said}");
    assert!(said.contains("Record by hand"), "{said}");
    let begin = said.find("#!/bin/sh").expect("the recorder");
    let tools = folder.join("tools");
    fs::create_dir_all(&tools).expect("a folder");
    fs::write(tools.join("tc"), &said[begin..]).expect("written");
    fs::set_permissions(tools.join("tc"), fs::Permissions::from_mode(0o755)).expect("permissions");
    let path = std::env::var("PATH").expect("a path");
    let log = folder.join("commands.sh");
    let ran = Command::new("sh")
        .arg("start.sh")
        .current_dir(folder.join("home/scripts"))
        .env("PATH", format!("{}:{path}", tools.display()))
        .env("ROUNDELAY_RECORD", &log)
        .status();
    assert!(ran.expect("a shell").success());
    let mut recorded = String::new();
    let mut file = fs::File::open(&log).expect("a record");
    file.read_to_string(&mut recorded).expect("a text");
    assert_eq!(recorded, "tc qdisc add dev eth0 root cake\n");
    drop(fs::remove_dir_all(&folder));
}

#[test]
fn a_file_alone_is_read_and_not_run() {
    let folder = folder("read");
    let mark = folder.join("ran");
    let text = format!(
        "touch {}\ntc qdisc add dev eth0 root cake\n",
        mark.display()
    );
    let path = script(&folder, &text);
    let roundelay = env!("CARGO_BIN_EXE_roundelay");
    let output = Command::new(roundelay).arg("import").arg(&path).output();
    assert!(output.expect("it runs").status.success());
    assert!(!mark.exists());
    for help in ["-h", "--help"] {
        let output = Command::new(roundelay).args(["import", help]).output();
        let said = String::from_utf8_lossy(&output.expect("it runs").stdout)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(said.contains("it is read and not run"), "{said}");
        assert!(
            said.contains("Run the command behind -- in a sandbox"),
            "{said}"
        );
    }
    for (words, expected) in [
        (&["import", "--run"][..], "<COMMAND>..."),
        (
            &["import", "--run", "x.sh", "--", "./x.sh"],
            "cannot be used with",
        ),
        (&["import", "--run", "--", "./nowhere.sh"], "./nowhere.sh"),
        (&["import"], "<SCRIPT"),
    ] {
        let output = Command::new(roundelay)
            .args(words)
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    }
    drop(fs::remove_dir_all(&folder));
}
