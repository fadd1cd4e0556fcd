//! Planted faults: the cheap ones are noticed, and each item has one or says why not.

use roundelay_papers::cache::Cache;
use roundelay_papers::catalogue::papers;
use roundelay_papers::faults::{report, run};
use roundelay_papers::runner::Versions;

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
                plan.has_noticeable_fault(),
                "{name}: plant a [[fault]] that a claim of the paper notices, or say why not: [cannot_tell] because"
            );
        }
    }
}
