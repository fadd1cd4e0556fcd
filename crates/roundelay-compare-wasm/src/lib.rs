//! `roundelay compare` as WebAssembly: a capture and arguments in, the command's table, report and
//! JSON out, for the page with comparisons in a browser.
//!
//! [`compare`] reads a capture and the arguments of a [`Request`]. Results and messages equal
//! the command's with `--no-cost`.
//!
//! The module exports six functions and the memory. `room(bytes)` gives the address for a request
//! in JSON. `answer()` compares, and returns the length of the answer, at `answer_at()`: `{"text":
//! ..}`, with `broken` if a bound was broken, or `{"error": ..}`. Afterwards `report()` and
//! `figures()` return the lengths of the HTML report and of the JSON, at the same address, and
//! `disciplines()` that of the list of disciplines, for the page. The module imports one function,
//! `capture.read(address, bytes)`: JavaScript copies the next bytes of the capture there and
//! returns their number, 0 at the end or -1 for an unreadable file.

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
/// An argument or the capture is wrong; the message is the command's.
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

/// The command line that the page stands for, if the page says which.
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

/// The printed table.
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

/// All disciplines with a sentence on each, and the disciplines compared by default.
pub fn disciplines() -> String {
    let mut all = Vec::new();
    for discipline in AnyDiscipline::all() {
        let info = discipline.info();
        all.push(json!({ "name": info.name, "about": info.about }));
    }
    json!({ "all": all, "default": DEPLOYED }).to_string()
}

/// Exports called from JavaScript, and the import for reading the capture. Names of exports and
/// declarations of imports count as unsafe. The code itself is safe.
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
        /// Copies at most this number of bytes of the capture to the address.
        safe fn read(address: *mut u8, bytes: usize) -> i32;
    }

    /// The capture, open in JavaScript.
    struct Opened;

    impl Read for Opened {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            usize::try_from(read(into.as_mut_ptr(), into.len()))
                .map_err(|_| io::Error::other("the browser cannot read the file"))
        }
    }

    /// Makes room for a request of this length in bytes. Returns the address.
    #[unsafe(no_mangle)]
    extern "C" fn room(bytes: usize) -> *mut u8 {
        REQUEST.with_borrow_mut(|request| {
            request.clear();
            request.resize(bytes, 0);
            request.as_mut_ptr()
        })
    }

    /// Answers the request. Returns the length of the answer in bytes.
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

    /// The request, and the comparison that it asks for.
    fn compared() -> Result<(Request, Advised), String> {
        let request: Request = REQUEST
            .with_borrow(|request| serde_json::from_slice(request))
            .map_err(|error| error.to_string())?;
        let advised = compare(&request, Opened)?;
        Ok((request, advised))
    }

    /// The HTML report of the last comparison. Returns the length in bytes.
    #[unsafe(no_mangle)]
    extern "C" fn report() -> usize {
        keep(
            ADVISED
                .with_borrow(|advised| advised.as_ref().map(html))
                .unwrap_or_default(),
        )
    }

    /// The last comparison as JSON. Returns the length in bytes.
    #[unsafe(no_mangle)]
    extern "C" fn figures() -> usize {
        keep(
            ADVISED
                .with_borrow(|advised| advised.as_ref().map(json))
                .unwrap_or_default(),
        )
    }

    /// The list of disciplines. Returns the length in bytes.
    #[unsafe(no_mangle)]
    extern "C" fn disciplines() -> usize {
        keep(list())
    }

    /// The address of the answer.
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
