//! `--anonymise`: results for strangers, with other addresses and without this machine's paths.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;
use roundelay::Fault;
use roundelay_report::Anonymiser;
use roundelay_trace::Stop;

use crate::failure::Failure;
use crate::text_file;

/// The capture's name for strangers.
pub(crate) const CAPTURE: &str = "capture.pcap";

/// Options for results that go to strangers.
#[derive(Debug, Clone, Args)]
pub(crate) struct Strangers {
    /// Make results that you may give to strangers: with other addresses, which share as many
    /// leading bits as the true ones (Crypto-PAn, with a random key), and without names or paths of
    /// files
    #[arg(long)]
    anonymise: bool,

    /// Anonymise with the key in this file: 32 hexadecimal digits, as `openssl rand -hex 16` prints
    /// them. Results with the same key have the same addresses
    #[arg(long, value_name = "FILE")]
    anonymise_key: Option<PathBuf>,
}

impl Strangers {
    /// The map of addresses. None if nobody asked for one.
    ///
    /// # Errors
    /// The key's file cannot be read or has no key, or the system has no random numbers.
    pub(crate) fn map(&self, stop: &Stop) -> Result<Option<Anonymiser>, Failure> {
        let key = match &self.anonymise_key {
            Some(path) => read_key(path, stop)?,
            None if self.anonymise => random_key()?,
            None => return Ok(None),
        };
        Ok(Some(Anonymiser::new(key)))
    }

    /// Whether results go to strangers.
    pub(crate) fn are_asked_for(&self) -> bool {
        self.anonymise || self.anonymise_key.is_some()
    }

    /// The key's file, for checks of paths.
    pub(crate) fn key_file(&self) -> Option<&Path> {
        self.anonymise_key.as_deref()
    }
}

fn random_key() -> Result<[u8; 16], Failure> {
    let mut key = [0; 16];
    match getrandom::fill(&mut key) {
        Ok(()) => Ok(key),
        Err(error) => Err(Failure::run(format!("--anonymise: no random key: {error}"))),
    }
}

fn read_key(path: &Path, stop: &Stop) -> Result<[u8; 16], Failure> {
    let text = text_file::read(path, "a key of 32 hexadecimal digits", stop)?;
    let digits = text.trim();
    let is_key = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    match u128::from_str_radix(digits, 16) {
        Ok(key) if is_key => Ok(key.to_be_bytes()),
        _ => {
            let legal = "32 hexadecimal digits, as `openssl rand -hex 16` prints them";
            let fault = Fault::wanted(legal).behind("no key: ");
            Err(Failure::usage(fault.in_file(path.display().to_string(), 1)))
        }
    }
}

/// The words of a call without the paths in it, so that you still see where each file stands.
pub(crate) fn words(words: &[String], paths: &[(&Path, String)]) -> Vec<String> {
    let mut all = Vec::new();
    for word in words {
        all.push(word_without_path(word, paths));
    }
    all
}

fn word_without_path(word: &str, paths: &[(&Path, String)]) -> String {
    for (path, name) in paths {
        let Some(path) = path.as_os_str().to_str() else {
            continue;
        };
        if word == path {
            return name.clone();
        }
        // As in --tree=FILE.
        if let Some(option) = word.strip_suffix(path)
            && option.ends_with('=')
        {
            return format!("{option}{name}");
        }
    }
    word.to_owned()
}

/// A name for a file, which says what it is and keeps its extension.
pub(crate) fn name(what: &str, path: &Path) -> String {
    match path.extension().and_then(OsStr::to_str) {
        Some(extension) => format!("{what}.{extension}"),
        None => what.to_owned(),
    }
}
