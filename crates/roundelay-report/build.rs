//! Copies uPlot, the chart library of the HTML report, to the folder read by `include_str!`.
//!
//! uPlot comes from npm, at the version pinned in `package-lock.json`. `npm ci` in this folder
//! installs uPlot into `node_modules`, and the published crate has these files; otherwise a private
//! copy is installed under `OUT_DIR`, and plain `cargo build` works wherever npm does.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

/// Files taken from the package, and their new names.
const FILES: [(&str, &str); 3] = [
    ("dist/uPlot.iife.min.js", "uPlot.iife.min.js"),
    ("dist/uPlot.min.css", "uPlot.min.css"),
    ("LICENSE", "uPlot.LICENSE"),
];

const PACKAGE: &str = "node_modules/uplot";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=package-lock.json");
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let package = if is_pinned_version(&here) {
        here.join(PACKAGE)
    } else {
        install(&here, &out).unwrap_or_else(|reason| fail(&here, &reason))
    };
    for (from, to) in FILES {
        let from = package.join(from);
        println!("cargo::rerun-if-changed={}", from.display());
        if let Err(reason) = fs::copy(&from, out.join(to)) {
            fail(&here, &format!("{}: {reason}", from.display()));
        }
    }
}

/// Whether `node_modules` has the version requested by `package.json`.
fn is_pinned_version(here: &Path) -> bool {
    let wanted = value_of(&here.join("package.json"), "\"uplot\"");
    wanted.is_some() && wanted == value_of(&here.join(PACKAGE).join("package.json"), "\"version\"")
}

/// The string after the first occurrence of `key` in a JSON file.
fn value_of(path: &Path, key: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let (_, rest) = text.split_once(key)?;
    rest.split('"').nth(1).map(str::to_owned)
}

/// Installs the pinned version under `out` and returns the package's path. The lock file has its
/// checksum.
fn install(here: &Path, out: &Path) -> Result<PathBuf, String> {
    let folder = out.join("npm");
    fs::create_dir_all(&folder).map_err(|reason| format!("{}: {reason}", folder.display()))?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(here.join(name), folder.join(name))
            .map_err(|reason| format!("{}: {reason}", here.join(name).display()))?;
    }
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let run = Command::new(npm)
        .args([
            "ci",
            "--ignore-scripts",
            "--omit=dev",
            "--no-audit",
            "--no-fund",
        ])
        .current_dir(&folder)
        .output();
    match run {
        Err(reason) => Err(format!("cannot run npm: {reason}")),
        Ok(run) if !run.status.success() => Err(format!(
            "npm ci failed ({}):\n{}",
            run.status,
            String::from_utf8_lossy(&run.stderr).trim()
        )),
        Ok(_) => Ok(folder.join(PACKAGE)),
    }
}

fn fail(here: &Path, reason: &str) -> ! {
    eprintln!(
        "roundelay-report draws its charts with uPlot, an npm package, and cannot get it.\n  {reason}\n\
         To fix it, install Node.js 20 or later (https://nodejs.org) and run, where the registry can be reached:\n  npm ci --prefix {}",
        here.display()
    );
    exit(1)
}
