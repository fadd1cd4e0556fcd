//! Mutations of a corpus file, as a fuzzer makes them but always the same: for tests without a
//! fuzzer.

/// `count` mutations of `bytes`: changed, missing, repeated and inserted pieces.
pub(crate) fn mutations(bytes: &[u8], count: u64) -> impl Iterator<Item = Vec<u8>> + '_ {
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
