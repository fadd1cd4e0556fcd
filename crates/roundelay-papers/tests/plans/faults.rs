//! Planted faults: the cheap ones are noticed, and each item has one or says why not.

use roundelay_papers::cache::Cache;
use roundelay_papers::catalogue::papers;
use roundelay_papers::faults::{report, run};
use roundelay_papers::runner::Versions;

/// Items without a fault that a claim of the paper notices: the list may only become shorter.
const WITHOUT: &[&str] = &[
    "qfq-plus delay",
    "qfq-plus hierarchy",
    "qfq-plus instructions",
    "qfq-plus leftover",
    "qfq-plus table-1",
    "qfq-plus tso",
    "qfq figure-10-instructions",
    "qfq figure-10",
    "qfq figure-4",
    "qfq figure-5",
    "qfq figure-6",
    "qfq lemma-1",
    "qfq lemma-2",
    "qfq lemma-3",
    "qfq lemma-4",
    "qfq section-2",
    "qfq section-4-3",
    "qfq section-5",
    "qfq table-2-best-effort",
    "qfq table-2",
    "qfq table-3",
    "qfq table-4",
    "qfq tables-2-3-s-kps",
    "qfq theorem-1",
    "qfq theorem-2",
    "qfq theorem-3",
    "qfq theorem-4",
    "qfq theorem-5",
    "qfq theorem-6",
    "qfq theorem-7",
    "qfq theorem-8",
];

#[test]
fn cheap_faults_are_noticed() {
    let versions = Versions::of_program("");
    for paper in papers().unwrap() {
        for item in &paper.items {
            let Some((plan, _)) = item.plan() else {
                continue;
            };
            for fault in plan.faults.iter().filter(|fault| fault.cheap) {
                let claims = run(plan, fault, &versions, &Cache::none(), &|| ()).unwrap();
                for claim in claims.iter().filter(|claim| claim.must) {
                    let name = format!("{} {}", paper.slug, item.name);
                    assert!(claim.is_noticed(), "{}", report(&name, fault, &claims));
                }
            }
        }
    }
}

#[test]
fn each_item_notices_a_fault_or_says_why_it_cannot() {
    for paper in papers().unwrap() {
        for item in &paper.items {
            let Some((plan, _)) = item.plan() else {
                continue;
            };
            let name = format!("{} {}", paper.slug, item.name);
            assert!(
                plan.tells_faults() || WITHOUT.contains(&name.as_str()),
                "{name}: plant a [[fault]] that a claim of the paper notices, or say why not: [cannot_tell] because"
            );
        }
    }
}
