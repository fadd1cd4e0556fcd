//! `roundelay compare` as WebAssembly, for the page that compares disciplines in a browser. It
//! takes a capture and arguments, and gives the command's table, report and JSON.
//!
//! [`compare`] reads a capture and the arguments in a [`Request`]. Results and messages equal the
//! command's with `--no-cost`.
//!
//! The module exports six functions and the memory. `room(bytes)` gives the address where the page
//! writes a request in JSON. `answer()` compares and returns the answer's length. The answer is
//! `{"text": .., "broken": ..}` or `{"error": ..}`, and `broken` is null unless a discipline broke
//! a proven bound. Afterwards `report()` and `figures()` return the lengths in bytes of the HTML
//! report and the JSON. `disciplines()` returns the length of a list of the disciplines, so that
//! the page can offer them. After each of these four calls, `answer_at()` gives the address, which
//! may have changed.
//!
//! The module imports one function, `capture.read(address, bytes)`. JavaScript copies the capture's
//! next bytes to the address and returns how many these are: 0 at the end, or -1 if it cannot read
//! the file.

mod request;

use std::io::Read;

pub use request::{File, Request};
use roundelay::schedulers::AnyDiscipline;
use roundelay_report::{Advised, SCREEN, TableStyle, table, table_within};
use roundelay_trace::Capture;
use roundelay_trace::arguments::{DEPLOYED, shell_word};
use serde_json::json;

/// Compares disciplines on a capture.
///
/// # Errors
/// An argument or the capture is wrong. The message is the command's.
pub fn compare(request: &Request, capture: impl Read + Send + 'static) -> Result<Advised, String> {
    let options = request.options()?;
    let capture =
        Capture::from_reader(request.name.as_str(), capture).map_err(|error| error.to_string())?;
    let comparison =
        roundelay_trace::compare(capture, &options, &mut ()).map_err(|error| error.to_string())?;
    Ok(Advised::new(
        comparison,
        &options,
        command(request).as_deref(),
    ))
}

/// The command line that the page stands for, if the page gives its words.
fn command(request: &Request) -> Option<String> {
    if request.words.is_empty() {
        return None;
    }
    let mut command = "roundelay".to_owned();
    for word in &request.words {
        command.push(' ');
        command.push_str(&shell_word(word));
    }
    Some(command)
}

/// The table as the command prints it.
pub fn text(request: &Request, advised: &Advised) -> String {
    if request.wide {
        return table(
            advised,
            TableStyle {
                color: false,
                width: Some(u16::MAX),
            },
        );
    }
    table_within(
        advised,
        TableStyle {
            color: false,
            width: request.columns,
        },
        SCREEN,
    )
}

/// All disciplines, each with a sentence about it, and those compared by default.
pub fn disciplines() -> String {
    let mut all = Vec::new();
    for discipline in AnyDiscipline::all() {
        let info = discipline.info();
        all.push(json!({ "name": info.name, "about": info.about }));
    }
    json!({ "all": all, "default": DEPLOYED }).to_string()
}

/// The exports that JavaScript calls, and the import that reads the capture. Rust counts exports'
/// names and imports' declarations as unsafe, but the code itself is safe.
#[cfg(target_arch = "wasm32")]
#[allow(
    unsafe_code,
    reason = "an export of a WebAssembly module has a name that is not mangled, and an import is a \
              foreign function"
)]
mod exports {
    use std::cell::RefCell;
    use std::io::{self, Read};

    use roundelay_report::{Advised, html, json};
    use serde_json::json as object;

    use super::{Request, compare, disciplines as list, text};

    thread_local! {
        static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        static ADVISED: RefCell<Option<Advised>> = const { RefCell::new(None) };
    }

    #[link(wasm_import_module = "capture")]
    unsafe extern "C" {
        /// Copies at most this many bytes of the capture to the address.
        safe fn read(address: *mut u8, bytes: usize) -> i32;
    }

    /// The capture that JavaScript has opened.
    struct Opened;

    impl Read for Opened {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            usize::try_from(read(into.as_mut_ptr(), into.len()))
                .map_err(|_| io::Error::other("the browser cannot read the file"))
        }
    }

    /// Makes room for a request of this many bytes, and returns the address.
    #[unsafe(no_mangle)]
    extern "C" fn room(bytes: usize) -> *mut u8 {
        REQUEST.with_borrow_mut(|request| {
            request.clear();
            request.resize(bytes, 0);
            request.as_mut_ptr()
        })
    }

    /// Answers the request, and returns the answer's length in bytes.
    #[unsafe(no_mangle)]
    extern "C" fn answer() -> usize {
        ADVISED.set(None);
        let answer = match compared() {
            Ok((request, advised)) => {
                let text = text(&request, &advised);
                let broken = advised.comparison.broken_bounds();
                ADVISED.set(Some(advised));
                object!({ "text": text, "broken": broken })
            }
            Err(error) => object!({ "error": error }),
        };
        keep(answer.to_string())
    }

    /// Reads the request and makes its comparison.
    fn compared() -> Result<(Request, Advised), String> {
        let request: Request = REQUEST
            .with_borrow(|request| serde_json::from_slice(request))
            .map_err(|error| error.to_string())?;
        let advised = compare(&request, Opened)?;
        Ok((request, advised))
    }

    /// Makes the HTML report of the last comparison and returns its length in bytes. 0 if there is
    /// none.
    #[unsafe(no_mangle)]
    extern "C" fn report() -> usize {
        keep(
            ADVISED
                .with_borrow(|advised| advised.as_ref().map(html))
                .unwrap_or_default(),
        )
    }

    /// Makes the last comparison's JSON and returns its length in bytes. 0 if there is none.
    #[unsafe(no_mangle)]
    extern "C" fn figures() -> usize {
        keep(
            ADVISED
                .with_borrow(|advised| advised.as_ref().map(json))
                .unwrap_or_default(),
        )
    }

    /// Lists the disciplines and returns the list's length in bytes.
    #[unsafe(no_mangle)]
    extern "C" fn disciplines() -> usize {
        keep(list())
    }

    /// The address of what the last call made. It changes, so ask after each call.
    #[unsafe(no_mangle)]
    extern "C" fn answer_at() -> *const u8 {
        ANSWER.with_borrow(|answer| answer.as_ptr())
    }

    fn keep(answer: String) -> usize {
        let bytes = answer.len();
        ANSWER.set(answer.into_bytes());
        bytes
    }
}
