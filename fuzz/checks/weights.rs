//! What must hold for any text that is read as weight rules. The fuzzer runs it, and the tests run
//! it on the corpus.

use roundelay_trace::WeightRules;

/// A rule's weight is legal; an error points into the text.
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    match WeightRules::parse_rule(text) {
        Ok(rule) => assert!(
            rule.weight()
                .is_some_and(|weight| (1..=1024).contains(&weight))
        ),
        Err(error) => assert!((1..=text.chars().count() + 1).contains(&error.column)),
    }
    match WeightRules::from_toml("fuzz.toml", text) {
        Ok(rules) => assert!((1..=1024).contains(&rules.weight(None))),
        Err(error) => assert!(
            (1..=text.lines().count() + 1).contains(&error.line().unwrap_or(0)),
            "{error}"
        ),
    }
}
