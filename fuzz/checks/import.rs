//! What must hold for any text that is read as a script of `tc`. The fuzzer runs it, and the tests
//! run it on the corpus.

use roundelay_import::{Settings, import};
use roundelay_trace::TreeFile;

/// An error points into the text; a tree reads back.
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let settings = Settings {
        name: "script".to_owned(),
        ..Settings::default()
    };
    match import(&settings, text) {
        Ok(imported) => {
            if let Err(error) = TreeFile::from_toml("tree.toml", &imported.tree) {
                panic!("{error}\n{}", imported.tree);
            }
            let lines = text.lines().count();
            let mut places = imported.remarks.iter().map(|remark| remark.line);
            assert!(places.all(|line| (1..=lines + 1).contains(&line)));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
