//! Lays uPlot, which the HTML report draws with, where `include_str!` finds it.
//!
//! It comes from npm, at the version that `package-lock.json` pins. `npm ci` in this folder puts it into `node_modules`; where that has not
//! been done, a private copy is installed under `OUT_DIR`, so that plain `cargo build` works wherever npm does.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

/// What is taken from the package, and under which name.
const FILES: [(&str, &str); 3] =
    [("dist/uPlot.iife.min.js", "uPlot.iife.min.js"), ("dist/uPlot.min.css", "uPlot.min.css"), ("LICENSE", "uPlot.LICENSE")];

const PACKAGE: &str = "node_modules/uplot";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=package-lock.json");
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let package =
        if is_pinned_version(&here) { here.join(PACKAGE) } else { install(&here, &out).unwrap_or_else(|reason| fail(&here, &reason)) };
    for (from, to) in FILES {
        let from = package.join(from);
        println!("cargo::rerun-if-changed={}", from.display());
        if let Err(reason) = fs::copy(&from, out.join(to)) {
            fail(&here, &format!("{}: {reason}", from.display()));
        }
    }
}

/// Whether `node_modules` holds the version that `package.json` asks for.
fn is_pinned_version(here: &Path) -> bool {
    let wanted = value_of(&here.join("package.json"), "\"uplot\"");
    wanted.is_some() && wanted == value_of(&here.join(PACKAGE).join("package.json"), "\"version\"")
}

/// The string behind the first occurrence of `key` in a JSON file.
fn value_of(path: &Path, key: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let (_, rest) = text.split_once(key)?;
    rest.split('"').nth(1).map(str::to_owned)
}

/// Installs what the lock file pins under `out`, and says where the package is. Its checksum is in the lock file.
fn install(here: &Path, out: &Path) -> Result<PathBuf, String> {
    let folder = out.join("npm");
    fs::create_dir_all(&folder).map_err(|reason| format!("{}: {reason}", folder.display()))?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(here.join(name), folder.join(name)).map_err(|reason| format!("{}: {reason}", here.join(name).display()))?;
    }
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let run = Command::new(npm).args(["ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund"]).current_dir(&folder).output();
    match run {
        Err(reason) => Err(format!("cannot run npm: {reason}")),
        Ok(run) if !run.status.success() => {
            Err(format!("npm ci failed ({}):\n{}", run.status, String::from_utf8_lossy(&run.stderr).trim()))
        }
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
