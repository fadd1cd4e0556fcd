//! The view of a running session: a terminal that shows its figures, and keys that change it.
//!
//! A thread of its own draws and reads keys, because a slow terminal must not make packets late.
//! The session sends it figures a few times a second, and makes the changes that it asks for as if
//! they came from `roundelay live set`.

mod figures;
mod keys;
mod screen;

#[cfg(test)]
#[path = "../../tests/pty.rs"]
mod pty;

use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::style;
use ratatui::crossterm::terminal::disable_raw_mode;
use roundelay_live::Bottleneck;
use roundelay_live::control;

use crate::terminal::is_plain;
use figures::{Figures, Gatherer};
use keys::{Keys, Wish};

/// Seconds between figures.
const EVERY: f64 = 0.25;
/// The longest wait for a key.
const PATIENCE: Duration = Duration::from_millis(50);
/// The longest wait, at the end, for the thread that draws.
const ENDS: Duration = Duration::from_secs(2);
/// Messages that may wait for the terminal. More are left out, because newer figures follow.
const WAITING: usize = 4;

/// Set once the terminal has been given back because of a panic. Then nobody draws any more.
static OVER: AtomicBool = AtomicBool::new(false);

/// What the session tells the view.
enum Message {
    Figures(Box<Figures>),
    Answer(String),
}

/// The view. When it is dropped, the terminal is as it was before.
pub(super) struct View {
    gatherer: Gatherer,
    next: f64,
    /// None when the view is over.
    messages: Option<SyncSender<Message>>,
    wishes: Receiver<Wish>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl View {
    /// Takes the terminal over. The thread that draws has the caller's privileges and namespace,
    /// but ordinary priority.
    ///
    /// # Errors
    /// Standard input or output is no terminal.
    pub(super) fn start() -> io::Result<Self> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Err(io::Error::other(
                "--view needs a terminal as standard input and output; --json and --metrics do not",
            ));
        }
        if is_plain() {
            style::force_color_output(false);
        }
        let terminal = take_over()?;
        let (messages, to_show) = sync_channel(WAITING);
        let (wish, wishes) = channel();
        let draw = move || {
            let outcome = show(terminal, &to_show, &wish);
            // Done here, because it waits for whoever reads the terminal.
            if !OVER.load(Ordering::Relaxed) {
                ratatui::restore();
            }
            // Without a terminal the run ends, as it does with one that hangs up.
            _ = wish.send(Wish::Quit);
            outcome
        };
        let thread = std::thread::Builder::new()
            .name("view".to_owned())
            .spawn(draw);
        let thread = thread.inspect_err(|_| ratatui::restore())?;
        Ok(Self {
            gatherer: Gatherer::default(),
            next: 0.0,
            messages: Some(messages),
            wishes,
            thread: Some(thread),
        })
    }

    /// Shows the session as it is, makes the changes asked for, and says whether the run goes on.
    pub(super) fn goes_on(&mut self, bottleneck: &mut Bottleneck, seconds: f64) -> bool {
        let mut answers = Vec::new();
        while let Ok(wish) = self.wishes.try_recv() {
            let Wish::Change(command) = wish else {
                return false;
            };
            answers.push(control::make(&command, bottleneck).text);
        }
        if !answers.is_empty() {
            self.tell(Message::Answer(answers.join("\n")));
            // Show the change at once.
            self.next = seconds;
        }
        if seconds >= self.next {
            self.next = seconds + EVERY;
            let figures = self.gatherer.look(bottleneck, seconds);
            self.tell(Message::Figures(Box::new(figures)));
        }
        true
    }

    /// Tells the thread that draws. It may be slower, and then misses the message.
    fn tell(&self, message: Message) {
        if let Some(messages) = &self.messages {
            _ = messages.try_send(message);
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // The thread ends when nobody tells it anything any more.
        self.messages = None;
        let end = Instant::now() + ENDS;
        if let Some(thread) = self.thread.take() {
            while !thread.is_finished() && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(2));
            }
            if !thread.is_finished() {
                // Nobody reads the terminal, so each further letter would hang, too.
                _ = disable_raw_mode();
                return;
            }
            _ = thread.join();
        }
    }
}

/// Takes the terminal over until it is restored. A panic restores it before its message.
fn take_over() -> io::Result<DefaultTerminal> {
    let terminal = ratatui::try_init();
    let restores = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        OVER.store(true, Ordering::Relaxed);
        restores(panic);
    }));
    terminal.inspect_err(|_| ratatui::restore())
}

/// Draws and reads keys until the session is over.
fn show(
    mut terminal: DefaultTerminal,
    messages: &Receiver<Message>,
    wishes: &Sender<Wish>,
) -> io::Result<()> {
    let mut keys = Keys::default();
    let mut figures = None;
    while !OVER.load(Ordering::Relaxed) {
        loop {
            match messages.try_recv() {
                Ok(Message::Figures(new)) => figures = Some(new),
                Ok(Message::Answer(text)) => keys.answered(&text),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
        if let Some(figures) = &figures {
            terminal.draw(|frame| screen::draw(frame, figures, &keys))?;
        }
        if event::poll(PATIENCE)?
            && let Event::Key(key) = event::read()?
        {
            for wish in keys.press(key, figures.as_deref()) {
                // If this fails, the session is over, and so is this loop.
                _ = wishes.send(wish);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command as Process;

    use super::pty::Pty;
    use super::*;

    #[test]
    #[ignore = "run by the next test, on a terminal of its own"]
    fn panics() {
        let view = View::start().expect("a terminal");
        // The first figures would be drawn now.
        std::thread::sleep(PATIENCE * 2);
        let _view = view;
        panic!("on purpose");
    }

    #[test]
    fn a_panic_gives_the_terminal_back_before_its_message() {
        let terminal = Pty::new();
        let mut test = Process::new(std::env::current_exe().expect("this program"));
        test.args([
            "--exact",
            "live::view::tests::panics",
            "--ignored",
            "--nocapture",
        ]);
        terminal.connect(&mut test);
        assert!(terminal.is_as_it_was());
        let mut child = test.spawn().expect("it runs");
        // Keys that nobody reads any more are lost.
        terminal.press("+q");
        let ended = child.wait().expect("it ends");
        assert!(!ended.success());
        assert!(terminal.waits_for("on purpose", || false));
        assert!(terminal.is_as_it_was());
        let shown = terminal.shown();
        let offsets = ["\x1b[?1049h", "\x1b[?1049l", "on purpose"].map(|text| shown.find(text));
        assert!(offsets.is_sorted() && offsets[0].is_some(), "{shown:?}");
        assert_eq!(shown.matches("\x1b[?1049").count(), 2, "{shown:?}");
    }
}
