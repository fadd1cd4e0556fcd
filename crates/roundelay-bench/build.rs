//! Build script: records the compiler version and target, since instruction counts depend on both.

use std::env;
use std::process::Command;

fn main() {
    let compiler =
        env::var_os("RUSTC").and_then(|rustc| Command::new(rustc).arg("--version").output().ok());
    let version = compiler
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default();
    println!(
        "cargo::rustc-env=ROUNDELAY_COMPILER={version}, {}",
        env::var("TARGET").unwrap_or_default()
    );
    println!("cargo::rerun-if-changed=build.rs");
}
