//! What must hold for any bytes that are read as a schedule in Parquet, or as a file of a sweep. The
//! fuzzer runs it, and the tests run it on the corpus.

use roundelay_report::{SweepFile, read_schedule};

/// Errors name the file; what is read as a file of a sweep is written and read as the same again.
pub(crate) fn check(data: &[u8]) {
    let path = std::env::temp_dir().join(format!("roundelay-fuzz-{}", std::process::id()));
    std::fs::write(&path, data).expect("a file");
    if let Err(error) = read_schedule(&path) {
        assert!(
            error.to_string().starts_with(&path.display().to_string()),
            "{error}"
        );
    }
    if let Ok(file) = SweepFile::read(&path) {
        std::fs::write(&path, file.bytes().expect("it can be written")).expect("a file");
        assert_eq!(SweepFile::read(&path), Ok(file));
    }
    drop(std::fs::remove_file(&path));
}
