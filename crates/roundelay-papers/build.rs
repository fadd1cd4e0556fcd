//! Build script: embeds the plans of `papers/` in the command. `papers` here is a link to the
//! workspace's folder, so that the published crate has the plans.

use std::fs;
use std::path::{Path, PathBuf};
use std::{env, error::Error};

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?)
        .join("papers")
        .canonicalize()?;
    println!("cargo::rerun-if-changed={}", root.display());
    let mut entries = Vec::new();
    for paper in sorted(&root)?.into_iter().filter(|path| path.is_dir()) {
        println!("cargo::rerun-if-changed={}", paper.display());
        for file in sorted(&paper)?.into_iter().filter(|path| path.is_file()) {
            println!("cargo::rerun-if-changed={}", file.display());
            entries.push(format!(
                "    ({:?}, include_str!({:?})),\n",
                file.strip_prefix(&root)?.display().to_string(),
                file
            ));
        }
    }
    let out = PathBuf::from(env::var("OUT_DIR")?).join("plans.rs");
    fs::write(out, format!("[\n{}]\n", entries.concat()))?;
    Ok(())
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut paths = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>, std::io::Error>>()?;
    paths.sort();
    Ok(paths)
}
