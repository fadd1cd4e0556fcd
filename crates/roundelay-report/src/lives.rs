//! Tables of `[meter]` results over replicas: flows over their lifetimes, worst-case fair indices.

use crate::document::Section;
use crate::figures::{INDICES, LIVES, table};
use crate::summary::GroupSummary;

/// Table for flows over their lifetimes, if measured.
pub(crate) fn lives(groups: &[GroupSummary]) -> Section {
    let mut names = Vec::new();
    let mut all = Vec::new();
    for group in groups {
        if let Some(lives) = &group.lives {
            names.push(&*group.name);
            all.push(&lives.means);
        }
    }
    table("flows' lives", &names, LIVES, &all, None)
}

/// Table for worst-case fair indices, if measured.
pub(crate) fn indices(groups: &[GroupSummary]) -> Section {
    let mut names = Vec::new();
    let mut all = Vec::new();
    for group in groups {
        if let Some(indices) = &group.indices {
            names.push(&*group.name);
            all.push(indices);
        }
    }
    table("worst flow of", &names, INDICES, &all, None)
}
