//! No command of tc and no value of a variable is lost without a remark or an error with its line.

use roundelay::QueueSpec;
use roundelay_import::{Imported, Settings, import};

use crate::scripts::read_back;

/// An htb with a class for the rest.
const HTB: &str = "tc qdisc add dev eth0 root handle 1: htb default 10\n\
                   tc class add dev eth0 parent 1: classid 1:10 htb rate 9mbit\n";

fn of(text: &str, set: &[(&str, &str)]) -> Result<Imported, String> {
    let mut settings = Settings {
        name: "s".to_owned(),
        ..Settings::default()
    };
    for (name, value) in set {
        settings
            .variables
            .push(((*name).to_owned(), (*value).to_owned()));
    }
    let imported = import(&settings, text).map_err(|error| error.to_string())?;
    if let Err(error) = read_back(&imported.tree) {
        panic!("{error}\n{text}\n{}", imported.tree);
    }
    Ok(imported)
}

/// Lines of the tree that are no comments.
fn nodes(imported: &Imported) -> String {
    let mut all = String::new();
    for line in imported.tree.lines() {
        if !line.starts_with('#') {
            all += line;
            all.push('\n');
        }
    }
    all
}

fn remarks(imported: &Imported) -> String {
    let mut all = String::new();
    for remark in &imported.remarks {
        all += &format!("{}: {}\n", remark.line, remark.text);
    }
    all
}

/// Scripts behind [`HTB`], and the rates of their classes.
fn check_rates(cases: &[(&str, &[&str])]) {
    let mut wrong = String::new();
    for (text, rates) in cases {
        let whole = format!("CLS=\"tc class add dev eth0 parent 1: classid\"\n{HTB}{text}\n");
        let arguments: &[(&str, &str)] = if text.contains("shift") {
            &[("1", "3mbit"), ("2", "4mbit"), ("3", "5mbit")]
        } else {
            &[]
        };
        match of(&whole, arguments) {
            Ok(imported) => {
                let tree = nodes(&imported);
                for rate in *rates {
                    if !tree.contains(&format!("rate = \"{rate}\"")) {
                        wrong += &format!("{text}: no {rate}\n{tree}\n");
                    }
                }
                let classes = tree.matches("\nrate = ").count();
                if classes != rates.len() + 1 {
                    wrong += &format!("{text}: {classes} rates\n{tree}\n");
                }
            }
            Err(error) => wrong += &format!("{text}: {error}\n"),
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Scripts behind [`HTB`], and what a remark or the error says, with its line: the script begins
/// at line 4.
fn check_said(cases: &[(&str, &str)]) {
    let mut wrong = String::new();
    for (text, said) in cases {
        let whole = format!("CLS=\"tc class add dev eth0 parent 1: classid\"\n{HTB}{text}\n");
        let found = match of(&whole, &[]) {
            Ok(imported) => remarks(&imported),
            Err(error) => error,
        };
        if !found.contains(said) {
            wrong += &format!("{text}: no `{said}` in\n{found}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn arguments_are_shifted() {
    check_rates(&[
        (
            "f() { shift; $CLS 1:1 htb rate $1; }; f a 2mbit",
            &["2mbit"],
        ),
        (
            "f() { shift 2; $CLS 1:1 htb rate $1; }; f a b 2mbit",
            &["2mbit"],
        ),
        (
            "$CLS 1:1 htb rate $1\nshift\n$CLS 1:2 htb rate $1",
            &["3mbit", "4mbit"],
        ),
        ("shift 2\n$CLS 1:1 htb rate $1", &["5mbit"]),
        (
            "f() { while [ $# -gt 0 ]; do $CLS 1:$1 htb rate $2; shift 2; done; }\nf 1 1mbit 2 2mbit",
            &["1mbit", "2mbit"],
        ),
        (
            "set -- 6mbit 7mbit\nshift\n$CLS 1:1 htb rate $1",
            &["7mbit"],
        ),
    ]);
}

#[test]
fn quoted_arguments_are_words() {
    check_rates(&[
        (
            "r() { tc \"$@\"; }; r class add dev eth0 parent 1: classid 1:1 htb rate 1mbit",
            &["1mbit"],
        ),
        ("r() { \"$@\"; }; r $CLS 1:1 htb rate 1mbit", &["1mbit"]),
        (
            "r() { sudo \"$@\"; }; r $CLS 1:1 htb rate 1mbit",
            &["1mbit"],
        ),
        (
            "f() { for a in \"$@\"; do $CLS 1:$a htb rate ${a}mbit; done; }\nf 1 2",
            &["1mbit", "2mbit"],
        ),
        (
            "f() { eval \"$*\"; }; f $CLS 1:1 htb rate 1mbit",
            &["1mbit"],
        ),
        (
            "r() { \"$@\"; }; f() { $CLS 1:1 htb rate $1; }; r f 1mbit",
            &["1mbit"],
        ),
    ]);
}

#[test]
fn tc_behind_other_programs_is_followed() {
    for wrapper in [
        "time",
        "time -p",
        "exec",
        "command",
        "busybox",
        "nice -n 5",
        "nice",
        "env LANG=C",
        "doas",
        "sudo -u root",
        "nohup",
        "LANG=C",
        "! ! ",
    ] {
        check_rates(&[(&format!("{wrapper} $CLS 1:1 htb rate 1mbit"), &["1mbit"])]);
    }
    check_said(&[
        (
            "nsenter -t 1 -n tc class add dev eth0 x",
            "4: left out: nsenter runs tc",
        ),
        (
            "ssh router tc class add dev eth0 x",
            "4: left out: ssh runs tc",
        ),
        ("sh -c 'tc class add dev eth0 x'", "4: left out: sh runs tc"),
        (
            "ssh router <<E\ntc class add dev eth0 x\nE",
            "4: left out: ssh runs tc",
        ),
        ("$RUN tc class add dev eth0 x", "s:4: $RUN has no value"),
        (
            "trap 'tc qdisc del dev eth0 root' EXIT",
            "4: left out: trap runs tc",
        ),
    ]);
}

#[test]
fn loops_end_where_they_say() {
    check_rates(&[
        (
            "for i in 1 2 3; do [ $i = 3 ] && break; $CLS 1:$i htb rate ${i}mbit; done",
            &["1mbit", "2mbit"],
        ),
        (
            "for i in 1 2 3; do [ $i = 2 ] && continue; $CLS 1:$i htb rate ${i}mbit; done",
            &["1mbit", "3mbit"],
        ),
        (
            "for a in 1 2; do for i in 1 2; do [ $i = 2 ] && continue 2; $CLS 1:$a htb rate ${a}mbit; done; done",
            &["1mbit", "2mbit"],
        ),
        (
            "i=1; while [ $i -lt 3 ]; do $CLS 1:$i htb rate ${i}mbit; i=$((i+1)); done",
            &["1mbit", "2mbit"],
        ),
        (
            "i=1; until [ $i -ge 3 ]; do $CLS 1:$i htb rate ${i}mbit; let i++; done",
            &["1mbit", "2mbit"],
        ),
        (
            "for ((i=1; i<=2; i++)); do $CLS 1:$i htb rate ${i}mbit; done",
            &["1mbit", "2mbit"],
        ),
        (
            "i=0; while true; do i=$((i+1)); [ $i -gt 2 ] && break; $CLS 1:$i htb rate ${i}mbit; done",
            &["1mbit", "2mbit"],
        ),
    ]);
    check_said(&[
        (
            "while true; do $CLS 1:1 htb rate 1mbit; sleep 1; done",
            "4: left out: 1 tc command in a loop without an end",
        ),
        (
            "i=1; while [ $i -gt 0 ]; do tc qdisc del dev eth9 root; i=$((i+1)); done",
            "4: left out: 1 tc command in a loop of more than 1000 rounds",
        ),
        (
            "for i in 1 2; do [ -f /x ] && break; $CLS 1:$i htb rate 1mbit; done",
            "4: whether this leaves the loop depends on the machine",
        ),
    ]);
}

#[test]
fn values_are_those_of_the_shell() {
    check_rates(&[
        ("R=1; let R=R+1; $CLS 1:1 htb rate ${R}mbit", &["2mbit"]),
        ("R=1; ((R++)); $CLS 1:1 htb rate ${R}mbit", &["2mbit"]),
        ("R=1; R+=5; $CLS 1:1 htb rate ${R}mbit", &["15mbit"]),
        (
            "R=1; f() { local R=7; }; f; $CLS 1:1 htb rate ${R}mbit",
            &["1mbit"],
        ),
        ("R=1; (R=7); $CLS 1:1 htb rate ${R}mbit", &["1mbit"]),
        (
            "R=1; f() { $CLS 1:1 htb rate ${R}mbit; }; R=2 f; $CLS 1:2 htb rate ${R}mbit",
            &["2mbit", "1mbit"],
        ),
        (": ${R:=4}; $CLS 1:1 htb rate ${R}mbit", &["4mbit"]),
        (
            "case eth7 in eth[0-3]) R=1;; eth?) R=2;; esac; $CLS 1:1 htb rate ${R}mbit",
            &["2mbit"],
        ),
        (
            "f() { return 1; }; f && $CLS 1:1 htb rate 1mbit || $CLS 1:1 htb rate 2mbit",
            &["2mbit"],
        ),
    ]);
    let use_it = "; $CLS 1:1 htb rate $R";
    for unknown in [
        "R=1mbit; read R < /etc/rate",
        "R=1mbit; [ -f /x ] && R=20mbit",
        "R=1mbit; grep -q x /y && R=3mbit || R=4mbit",
        "R=1mbit; if [ -f /x ]; then R=20mbit; fi",
        "R=1mbit; while read x; do R=2mbit; done",
        "R=1mbit; let R=S+1",
        "R=1mbit; ((R = S))",
        "R=1mbit; case $S in a) R=2mbit;; esac",
        "R=1mbit; printf -v R %s 7",
        "for R in $(cat /x); do :; done",
    ] {
        check_said(&[(
            &format!("{unknown}{use_it}"),
            "s:4: $R: line 4 decides about its value; expected --set R=VALUE",
        )]);
    }
    check_said(&[
        (
            "R=1mbit; unset R; $CLS 1:1 htb rate $R",
            "s:4: $R has no value here",
        ),
        (
            "R=('1mbit 2mbit'); $CLS 1:1 htb rate $R",
            "$R: it is an array",
        ),
        (
            "$CLS 1:1 htb rate `cat /x`",
            "let `roundelay import --run -- SCRIPT` run it in a sandbox",
        ),
        (
            "$CLS 1:1 htb rate 10%",
            "a percentage is of the interface's speed",
        ),
        ("$CLS 1:1 htb rate 1mbit rate 2mbit", "`rate` stands twice"),
    ]);
    // A value that both ways have is known.
    check_rates(&[(
        "R=1; [ -f /x ] && R=1; $CLS 1:1 htb rate ${R}mbit",
        &["1mbit"],
    )]);
}

#[test]
fn lines_of_tc_batch_are_found() {
    let line = "class add dev eth0 parent 1: classid 1:1 htb rate 1mbit";
    check_rates(&[
        (
            &format!("cat > /tmp/b <<E\n{line}\nE\ntc -batch /tmp/b"),
            &["1mbit"],
        ),
        (&format!("cat <<E | tc -batch -\n{line}\nE"), &["1mbit"]),
        (
            &format!("echo {line} > $F/b\necho \"{line}\" > b\ntc -b b"),
            &["1mbit"],
        ),
        (&format!("echo '{line}' | tc -b -"), &["1mbit"]),
        (&format!("tc -force -batch - <<E\ntc {line}\nE"), &["1mbit"]),
    ]);
    check_said(&[
        (
            "tc -batch /etc/rules",
            "4: left out: tc reads its commands from /etc/rules; import that file",
        ),
        (
            "generate | tc -batch -",
            "4: left out: tc reads its commands from another program",
        ),
        (
            "tc actions add action police",
            "4: left out: `tc actions` sets up no qdisc",
        ),
    ]);
}

#[test]
fn what_leads_nowhere_is_told() {
    let cases = [
        (
            "root handle 1: red limit 60000 min 5000 max 15000 avpkt 1000 burst 10",
            "parent 1:1 netem delay 50ms",
            "2: netem at 1:1 is left out: netem below red",
        ),
        (
            "root handle 1: fq_codel",
            "parent 1:1 sfq",
            "2: sfq at 1:1 is left out: fq_codel takes no qdisc below it",
        ),
        (
            "root handle 1: prio",
            "parent 1:4 fq_codel",
            "2: fq_codel at 1:4 is left out: prio has no such band",
        ),
    ];
    for (root, inner, said) in cases {
        let text = format!("tc qdisc add dev eth0 {root}\ntc qdisc add dev eth0 {inner}\n");
        let found = remarks(&of(&text, &[]).expect("a tree"));
        assert!(found.contains(said), "{text}: {found}");
    }
    let filter = "protocol ip prio 1 u32 match ip dport 80 0xffff";
    for (root, at, said) in [
        (
            "htb",
            "2:",
            "2: this filter at 2:, left out: there is no such qdisc",
        ),
        (
            "cake",
            "1:",
            "2: this filter at 1:, left out: filters of cake choose tins",
        ),
        (
            "fq_codel",
            "1:",
            "2: this filter at 1:, left out: fq_codel has no classes",
        ),
    ] {
        let text = format!(
            "tc qdisc add dev eth0 root handle 1: {root}\n\
             tc filter add dev eth0 parent {at} {filter} flowid 1:1\n"
        );
        let found = remarks(&of(&text, &[]).expect("a tree"));
        assert!(found.contains(said), "{text}: {found}");
    }
}

#[test]
fn code_points_of_a_filter_are_not_in_rules_of_the_priomap() {
    let text = "tc qdisc add dev eth0 root handle 1: prio bands 4\n\
                tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dsfield 0x20 0xe0 flowid 1:4\n\
                tc filter add dev eth0 parent 1: protocol ip prio 2 u32 match ip dsfield 0xb8 0xfc flowid 1:1\n";
    let imported = of(text, &[]).expect("a tree");
    let tree = nodes(&imported);
    for point in ["cs1", "10", "12"] {
        let rule = format!("dscp {point} and src 0.0.0.0/0");
        assert_eq!(tree.matches(&rule).count(), 1, "{rule}\n{tree}");
    }
    assert!(!remarks(&imported).contains("goes here, and in Linux"));
    // EF has a filter.
    assert!(
        !remarks(&imported).contains("EF (46)"),
        "{}",
        remarks(&imported)
    );
}

#[test]
fn a_mask_of_nothing_matches_everything() {
    let text = "tc qdisc add dev eth0 root handle 1: htb\n\
                tc class add dev eth0 parent 1: classid 1:11 htb rate 1mbit\n\
                tc filter add dev eth0 parent 1: protocol all prio 999 u32 match ip protocol 0 0x00 flowid 1:11\n";
    let imported = of(text, &[]).expect("a tree");
    assert!(
        nodes(&imported).contains("flows = [\"src 0.0.0.0/0\", \"src ::/0\"]"),
        "{}",
        imported.tree
    );
}

#[test]
fn words_of_tc_are_known() {
    for (qdisc, text) in [
        (
            "cake bandwidth 1mbit diffserv via-ethernet",
            "cake linux bandwidth 1mbit diffserv via-ethernet",
        ),
        ("pfifo_fast", "discipline = \"priority\""),
        ("netem delay 1ms", "fifo limit 1000"),
    ] {
        let text_of = format!("tc qdisc add dev eth0 root {qdisc}\n");
        let imported = of(&text_of, &[]).expect("a tree");
        assert!(nodes(&imported).contains(text), "{}", imported.tree);
    }
    let same: QueueSpec = "cake diffserv".parse().expect("legal");
    assert_eq!(same.discipline.to_string(), "cake diffserv4");
    let text = "tc qdisc add dev eth0 root handle 1: qfq\n\
                tc class add dev eth0 parent 1: classid 1:1 qfq weight 1024\n";
    assert!(nodes(&of(text, &[]).expect("a tree")).contains("weight = 1024"));
    let wrong = text.replace("1024", "1025");
    assert!(of(&wrong, &[]).expect_err("too much").contains("1 to 1024"));
    for (qdisc, said) in [
        (
            "cake bandwith 1mbit",
            "s:1: `bandwith` of cake: tc has no such word",
        ),
        ("tbf rate 1mbit burst 5k", "s:1: tbf has a limit"),
    ] {
        let text = format!("tc qdisc add dev eth0 root {qdisc}\n");
        let error = of(&text, &[]).expect_err("a fault");
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn remarks_tell_what_to_do() {
    for (text, said) in [
        (
            "tc qdisc add dev eth0 root stab overhead 44 linklayer ethernet fq_codel",
            "--overhead 58. stab adds 44 to the frame with its 14 bytes",
        ),
        (
            "tc qdisc add dev pppoe-wan root stab overhead 44 linklayer ethernet fq_codel",
            "--overhead 44. packets of pppoe-wan have no header",
        ),
        (
            "tc qdisc add dev eth0 root handle 1: netem delay 9ms\ntc qdisc add dev eth0 parent 1:1 fq_codel",
            "fq_codel is below netem, so it gets each packet after the delay",
        ),
        (
            "tc qdisc add dev eth0 root handle 1: htb default 1\ntc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit\ntc qdisc add dev eth0 parent 1:1 netem delay 9ms",
            "netem is the queue of a class of htb",
        ),
        (
            "tc qdisc add dev eth0 root handle 1: htb default 20\nif [ -f /x ]; then tc class add dev eth0 parent 1: classid 1:20 htb rate 1mbit; fi",
            "the class may be among these",
        ),
        (
            "tc qdisc add dev eth0 root tbf rate 1mbit burst 1000 latency 50ms",
            "tbf drops each packet that is longer",
        ),
        (
            "tc qdisc add dev eth0 root handle 1: tbf rate 1mbit burst 1000 latency 50ms\ntc qdisc add dev eth0 parent 1:1 fq_codel",
            "tbf drops each packet that is longer",
        ),
        (
            "tc qdisc add dev eth0 root handle 1: drr\ntc class add dev eth0 parent 1: classid 1:1 drr\ntc qdisc add dev eth0 parent 1:1 tbf rate 1mbit burst 5k limit 9k",
            "tbf below a class of drr",
        ),
        (
            "tc qdisc add dev ifb0 root cake bandwidth 1mbit",
            "this tree is for downloads",
        ),
        (
            "tc qdisc add dev eth0 root cake bandwidth 1mbit memlimit 32Mb",
            "`--buffer 33554432b`",
        ),
    ] {
        let found = remarks(&of(text, &[]).expect("a tree"));
        assert!(found.contains(said), "{text}: {found}");
        assert!(
            !found.contains("past all classes: first") || !text.contains("if ["),
            "{found}"
        );
    }
    let strict = "tc qdisc add dev eth0 root handle 1: prio\n\
                  tc qdisc add dev eth0 parent 1:1 tbf rate 1mbit burst 5k limit 9k\n";
    assert!(!remarks(&of(strict, &[]).expect("a tree")).contains("tbf below"));
}

#[test]
fn what_tc_cannot_have_meant_is_refused() {
    for (command, said) in [
        (
            "qdsic add dev eth0 root fq",
            "no object of tc is called 'qdsic' (did you mean 'qdisc'?): qdisc, class, filter, ",
        ),
        (
            "dev eth0",
            "no object of tc is called 'dev': qdisc, class, filter, chain, actions, monitor, exec, help",
        ),
        (
            "qdisc dell dev eth0 root",
            "`tc qdisc dell` (did you mean 'del'?): expected add, replace, change, del or show",
        ),
        (
            "class frob dev eth0",
            "`tc class frob`: expected add, replace, change, del or show",
        ),
    ] {
        let error = of(&format!("{HTB}tc {command}\n"), &[]).expect_err(command);
        assert!(
            error.starts_with(&format!("s:3: {said}")),
            "{command}: {error}"
        );
    }
    // A qdisc may be a module of the user's own.
    for (kind, said) in [
        ("quark", "quark has no counterpart here; the leaf"),
        ("fq_codell", "(did you mean 'fq_codel'?); the leaf"),
        ("etf", "etf has no counterpart here (it holds packets until"),
        (
            "nfq_codel",
            "nfq_codel has no counterpart here (did you mean 'fq_codel'?); the leaf",
        ),
    ] {
        let script = format!("{HTB}tc qdisc replace dev eth0 parent 1:10 {kind} limit 7\n");
        let told = remarks(&of(&script, &[]).expect(kind));
        assert!(told.contains(said), "{told}");
    }
    // A line of a batch may go on in the next one, and end with a comment.
    let batch = "cat <<E | tc -ba -\nqdisc replace dev eth0 parent 1:10 \\\n fq # all\n# none\nE\n";
    let tree = of(&format!("{HTB}{batch}"), &[]).expect("a tree").tree;
    assert!(tree.contains("discipline = \"fq "), "{tree}");
    check_said(&[(
        "echo qdsic add dev eth0 root | tc -b -",
        "s:4: no object of tc",
    )]);
}

#[test]
fn what_tc_reads_is_read() {
    // tc takes the beginning of an object or verb for the whole.
    for command in [
        "q a dev eth1 root fq",
        "-s qdisc",
        "-net wan qdisc show",
        "-con /etc/tc.conf -na qdisc show",
        "-br qdisc show",
        "-d -s q ls dev eth0",
        "-cf /etc/tc.conf qdisc show",
        "qdisc ad dev eth1 root fq",
        "qdisc repl dev eth1 root fq",
        "qdisc lst",
        "qdisc help",
        "cl c dev eth0 parent 1: classid 1:10 htb rate 9mbit",
        "f show dev eth0",
        "filter get dev eth0",
        "chain add dev eth0 chain 3",
        "act ls action police",
        "monitor",
        "mon",
        "exec bpf graft m:globals/x key 0 obj x.o",
        "help",
        "",
        // What is deleted does not have to be anything.
        "qdisc del dev eth1 root fq_codell",
        "class del dev eth0 classid 1:99 frob",
        "qdisc add dev eth1 ingress_block 22 ingress",
        "qdisc add dev eth1 egress_block 22 clsact",
        "qdisc add dev eth1 root est 1sec 4sec fq",
    ] {
        let imported = of(&format!("{HTB}tc {command}\n"), &[]);
        assert!(imported.is_ok(), "{command}: {imported:?}");
    }
    // Qdiscs of Linux that no tree has are remarks.
    for kind in [
        "hhf",
        "skbprio",
        "cbq",
        "teql0",
        "dualpi2",
        "nssfq_codel",
        "gred",
    ] {
        let command = format!("tc qdisc add dev eth0 parent 1:10 {kind}");
        let found = remarks(&of(&format!("{HTB}{command}\n"), &[]).expect(kind));
        assert!(
            found.contains(&format!("{kind} has no counterpart here")),
            "{found}"
        );
    }
}

#[test]
fn each_name_that_a_script_uses_may_be_set() {
    for (text, names) in [
        ("tc qdisc show dev $A # $B", "A"),
        ("echo ${A:-$B} ${#C} \"${D%x}\" 'e' $E1_x", "A B C D E1_x"),
        ("A=1\nB+=2\nexport C D=3\nlocal E", "A B C D E"),
        ("read A B < /x; F=4 tc qdisc show", "A B F"),
        ("for A in 1 2; do :; done; for B; do :; done", "A B 1 7"),
        (
            "echo $((A + B)) $[C * 2]; ((D++)); let E=F+1",
            "A B C D E F",
        ),
        ("for ((A=B; A<3; A++)); do :; done", "A B"),
        ("echo $1 ${12} $0", "1 12 0"),
        ("echo \"$@\"", "1 9"),
        ("f() { shift; }; f", "1 9"),
        ("cat <<E\n$A ${B}\nE", "A B"),
        ("x=wan\neval \"R=\\$${x}_RATE\"", "x wan_RATE R"),
        ("printf -v A %s 7; unset B; getopts ab: C", "A B C 1"),
        ("case $A in $B) C=1 ;; esac; [ $D = 1 ]", "A B C D"),
        ("echo `expr $A + 1` $(seq 1 $B) > $C", "A B C"),
        (". ./rates.sh", "A RATE"),
        ("ssh router <<E\nA=1mbit\nE", "A"),
    ] {
        for name in names.split(' ') {
            let found = of(&format!("{HTB}{text}\n"), &[(name, "7")]);
            assert!(found.is_ok(), "{text}: {found:?}");
        }
    }
}

#[test]
fn a_value_that_the_script_never_uses_is_refused() {
    let text = format!("# $UNUSED\nUPLINK=9mbit\necho $1\n{HTB}");
    for (name, said) in [
        (
            "UPLNIK",
            "s: no variable of the script is called 'UPLNIK' (did you mean 'UPLINK'?): 1, UPLINK",
        ),
        (
            "UNUSED",
            "s: no variable of the script is called 'UNUSED': 1, UPLINK",
        ),
        ("2", "s: no variable of the script is called '2': 1, UPLINK"),
        (
            "uplink-",
            "s: no variable of the script is called 'uplink-': 1, UPLINK",
        ),
    ] {
        let error = of(&text, &[("UPLINK", "1mbit"), (name, "7")]).expect_err(name);
        assert_eq!(error, said);
    }
    let error = of(HTB, &[("RATE", "7")]).expect_err("there is none");
    assert_eq!(
        error,
        "s: no variable of the script is called 'RATE': the script has none"
    );
}

#[test]
fn faults_have_their_values_as_data() {
    let mut settings = Settings {
        name: "s".to_owned(),
        ..Settings::default()
    };
    let at_root = "tc qdisc add dev eth0 root ";
    for (text, line, [key, owner, given, legal, meant]) in [
        (
            "fq limit ten",
            1,
            ["limit", "fq", "ten", "a whole number", ""],
        ),
        (
            "fq limti 10",
            1,
            ["", "fq", "limti", "limit, flow_limit", "limit"],
        ),
        (
            "tbf rate 1mbit burst 5k",
            1,
            ["", "tbf", "", "`limit 30k` or", ""],
        ),
        (
            "cake bandwidth $UP",
            1,
            ["UP", "", "", "an assignment before", ""],
        ),
        (
            "handle 1:x fq",
            1,
            ["handle", "", "1:x", "a handle such as 1:10", ""],
        ),
        (
            "handle 1: htb\ntc class add dev eth0 classid 1:1 htb raet 1mbit",
            2,
            ["", "a class of htb", "raet", "rate, ceil", "rate"],
        ),
        (
            "handle 1: drr\ntc class add dev eth0 classid 1:1 drr quantum 0",
            2,
            ["quantum", "", "0", "a size such as 15k, 1 to", ""],
        ),
        (
            "prio bands 99",
            1,
            ["bands", "", "99", "a number from 1 to 16", ""],
        ),
        ("fq limit $((7 + x))", 1, ["x", "", "", "an assignment", ""]),
        (
            "fq\nif true; then",
            2,
            ["", "", "the end of the script", "fi", ""],
        ),
    ] {
        let fault = import(&settings, &format!("{at_root}{text}")).expect_err(text);
        assert_eq!(
            (fault.file(), fault.line()),
            (Some("s"), Some(line)),
            "{text}"
        );
        let found = [fault.key(), fault.owner(), fault.given(), fault.meant()];
        let found = found.map(Option::unwrap_or_default);
        assert_eq!(found, [key, owner, given, meant], "{text}: {fault}");
        let known = fault.legal().unwrap_or_default();
        assert!(known.starts_with(legal), "{text}: {known}");
    }
    settings.variables.push(("AB".to_owned(), "2".to_owned()));
    let text = format!("A=1\n{at_root} fq");
    let fault = import(&settings, &text).expect_err("no AB");
    assert_eq!((fault.file(), fault.line()), (Some("s"), None));
    assert_eq!((fault.given(), fault.meant()), (Some("AB"), Some("A")));
}
