//! Replay of a fuzzer's corpus without a fuzzer, with the same mutations of each file in every run:
//! tests of earlier findings.

use std::fs;
use std::path::Path;

/// Runs a check on every file of a corpus, and on so many mutations of it; the failing file's name
/// precedes the panic.
pub(crate) fn replay(name: &str, count: u64, check: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut files = 0;
    for entry in fs::read_dir(folder.join(name)).expect("the corpus") {
        let path = entry.expect("an entry").path();
        println!("{}", path.display());
        let bytes = fs::read(path).expect("a file");
        check(&bytes);
        mutations(&bytes, count).for_each(|mutated| check(&mutated));
        files += 1;
    }
    assert!(files >= 5, "corpus {name} holds {files} files");
}

/// `count` mutations of `bytes`, as a fuzzer makes them: changed, missing, repeated and inserted pieces.
fn mutations(bytes: &[u8], count: u64) -> impl Iterator<Item = Vec<u8>> + '_ {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ bytes.len() as u64;
    let mut draw = move |below: usize| {
        // Xorshift (Marsaglia, Journal of Statistical Software 8(14), 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    (0..count).map(move |_| {
        let mut mutated = bytes.to_vec();
        for _ in 0..=draw(3) {
            let start = draw(mutated.len());
            let end = (start + 1 + draw(16)).min(mutated.len());
            match draw(4) {
                0 => mutated[start..end]
                    .iter_mut()
                    .take(1)
                    .for_each(|byte| *byte ^= 1 << draw(8)),
                1 => drop(mutated.drain(start..end)),
                2 => {
                    let piece = mutated[start..end].to_vec();
                    let place = draw(mutated.len());
                    drop(mutated.splice(place..place, piece));
                }
                _ => {
                    let piece = b"0123456789-.e\"[]{}=\n \xff\0"[draw(22)];
                    mutated.insert(start, piece);
                }
            }
        }
        mutated
    })
}
