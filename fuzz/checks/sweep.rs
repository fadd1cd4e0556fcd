//! What must hold for any text that is read as the plan of a sweep. The fuzzer runs it, and the
//! tests run it on the corpus.

use roundelay_cli::call::{Host, Text, open_sweep};

/// Plans of this length have few points: others are left out.
const LONGEST: usize = 1 << 12;

/// A legal plan opens a second time, in the folder of the first. Scenarios that a plan names are not
/// there.
pub(crate) fn check(data: &[u8]) {
    let Some(text) = str::from_utf8(data).ok().filter(|_| data.len() < LONGEST) else {
        return;
    };
    let folder = std::env::temp_dir().join(format!("roundelay-plan-{}", std::process::id()));
    let host = Host {
        text: Some(Text {
            name: "plan.toml".to_owned(),
            text: text.to_owned(),
        }),
        ..Host::default()
    };
    let out = folder.clone().into_os_string();
    let words = ["-".into(), "--quiet".into(), "--out".into(), out];
    match open_sweep(words.clone(), &host) {
        Ok(session) => {
            drop(session);
            let again = open_sweep(words, &host);
            assert!(again.is_ok(), "{:?}", again.err());
        }
        Err(failure) => assert_eq!(failure.status(), 2, "{failure}"),
    }
    _ = std::fs::remove_dir_all(&folder);
}
