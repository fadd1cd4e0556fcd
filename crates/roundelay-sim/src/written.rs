//! What scenarios contain beside rates, times and sizes: queues, code points, urgency, messages.

use std::cell::RefCell;

use roundelay::schedulers::AnyDiscipline;
use roundelay::{Bytes, Duration, Fault, Limit, QueueSpec, Rate};
use roundelay_files::Written;
use roundelay_trace::dscp_number;

use crate::decision::TREE;
use crate::sources::connections::{End, Message};
use crate::sources::{SlackRule as _, Urgency};

/// The longest time in an urgency. Slack has 63 bits of picoseconds, which is 106 days and 18
/// hours.
const LONGEST_SLACK: Duration = Duration::from_secs(106 * 86_400);

impl Written for Urgency {
    const EXPECTED: &'static str = "urgency: \"priority 3\", \"slack 1s\", \"size 1s\", \"remaining 1s\", \"fair 100mbit\", \"deadline 5ms\" or \"cautious 1s 1gbit\", with a class's slack \"size 1s plus 100s\", and with slack written at departure from the host \"fair 100mbit at departure\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        if let Some(rule) = text.trim_end().strip_suffix(" at departure") {
            return Self::stamped_at_departure(rule.trim_end(), text);
        }
        if let Some((rule, offset)) = text.rsplit_once(" plus ") {
            return Self::with_offset(rule.trim_end(), offset.trim(), text);
        }
        let (rule, value) = text.split_once(' ').unwrap_or((text, ""));
        let time = || Self::slack(value.trim(), text);
        match rule {
            "none" if value.is_empty() => Ok(Self::None),
            "priority" => Ok(Self::Priority(value.trim().parse().map_err(|_| {
                Fault::of_range(format_args!("0 to {}", u32::MAX))
                    .behind(format_args!("'{text}': "))
                    .with_given(text)
            })?)),
            "slack" => time().map(Self::Constant),
            "size" => time().map(Self::FlowSize),
            "remaining" => time().map(Self::Remaining),
            "fair" => Rate::from_text(value.trim()).map(Self::Fair),
            "deadline" => time().map(Self::Deadline),
            "cautious" => {
                let (step, rate) = value
                    .trim()
                    .split_once(' ')
                    .ok_or_else(|| Fault::quoted(text, Self::EXPECTED))?;
                Ok(Self::Cautious {
                    step: Self::slack(step, text)?,
                    rate: Rate::from_text(rate.trim())?,
                })
            }
            _ => Err(Fault::quoted(text, Self::EXPECTED)),
        }
    }
}

impl Written for Message {
    const EXPECTED: &'static str = "a message: \"> 300b\" by the client, \"< 14kb after 2ms\" by \
         the server, \"> 300b every 4s\", \"< endless\"";
    const RANGE: &'static str = ", legal range 1b to 1tb";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let wrong = || Self::wrong(text);
        let words: Vec<_> = text.split_whitespace().collect();
        let time = |text: &str| Duration::from_text(text).map_err(|_| wrong());
        let (end, bytes, after, every) = match words[..] {
            [end, bytes] => (end, bytes, Duration::ZERO, None),
            [end, bytes, "after", after] => (end, bytes, time(after)?, None),
            [end, bytes, "every", every] => (end, bytes, Duration::ZERO, Some(time(every)?)),
            _ => return Err(wrong()),
        };
        let by = match end {
            ">" => End::Client,
            "<" => End::Server,
            _ => return Err(wrong()),
        };
        if bytes == "endless" {
            return Ok(Self {
                by,
                bytes: None,
                after,
                every,
            });
        }
        let Bytes(bytes) = Bytes::from_text(bytes).map_err(|_| wrong())?;
        if bytes == 0 {
            return Err(wrong());
        }
        Ok(Self {
            by,
            bytes: Some(bytes),
            after,
            every,
        })
    }
}

impl Urgency {
    /// # Errors
    /// The rule sets no slack, or the offset is not a time.
    fn with_offset(rule: &str, offset: &str, text: &str) -> Result<Self, Fault> {
        let rule = Self::from_text(rule)?;
        if !rule.written().slack {
            return Err(refused(
                text,
                "'plus' is for rules with slack: slack, size, remaining, fair, deadline, cautious",
            ));
        }
        Self::slack(offset, text).map(|offset| rule.plus(offset))
    }

    /// # Errors
    /// The rule sets no slack, or one that counts from when the packet is sent.
    fn stamped_at_departure(rule: &str, text: &str) -> Result<Self, Fault> {
        let rule = Self::from_text(rule)?;
        let written = rule.written();
        if !written.slack || written.deadline {
            return Err(refused(
                text,
                "'at departure' is for rules with slack and without a deadline: slack, size, remaining, fair, cautious",
            ));
        }
        Ok(rule.at_departure_from_host())
    }

    /// # Errors
    /// Not a time, or more than the slack in a header can hold.
    fn slack(time: &str, text: &str) -> Result<Duration, Fault> {
        let time = Duration::from_text(time)?;
        if time > LONGEST_SLACK {
            let fault = Fault::range(time, "0 to 106 days, 9158400s");
            Err(fault.behind(format_args!("'{text}': ")))
        } else {
            Ok(time)
        }
    }
}

/// The fault of an urgency that is refused for this reason.
fn refused(text: &str, reason: &str) -> Fault {
    Fault::new(format!("'{text}': {reason}")).with_given(text)
}

/// A DSCP: a code point of Differentiated Services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodePoint(pub(crate) u8);

impl Written for CodePoint {
    const EXPECTED: &'static str =
        "a code point, legal range 0 to 63, or a name, as in \"ef\" or \"af41\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        dscp_number(text).map(Self).ok_or_else(|| Self::wrong(text))
    }

    fn from_number(number: u64) -> Option<Self> {
        u8::try_from(number)
            .ok()
            .filter(|number| *number < 64)
            .map(Self)
    }
}

thread_local! {
    /// The program's own disciplines, while a scenario is read. They are here because serde hands
    /// no argument down to values.
    static OWN: RefCell<Vec<AnyDiscipline>> = const { RefCell::new(Vec::new()) };
}

/// Calls a reader. While it runs, values may also name the program's own disciplines.
pub(crate) fn with_own<R>(disciplines: &[AnyDiscipline], read: impl FnOnce() -> R) -> R {
    /// Restores the names from before, even after the reader panicked.
    struct Outer(Vec<AnyDiscipline>);

    impl Drop for Outer {
        fn drop(&mut self) {
            OWN.set(std::mem::take(&mut self.0));
        }
    }

    let _outer = Outer(OWN.replace(disciplines.to_vec()));
    read()
}

/// A queue's discipline, or a tree that the scenario or a file contains.
#[derive(Debug, Clone)]
pub(crate) enum Ordering {
    Discipline(QueueSpec),
    Tree { file: String, limit: Option<Limit> },
}

impl Written for Ordering {
    const EXPECTED: &'static str = "a discipline as tc writes it, as in \"fq_codel limit 1000\", or a tree, as in \"tree home.toml\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let spec = |text: &str| {
            OWN.with_borrow(|own| QueueSpec::read(text, own))
                .map_err(Fault::from)
        };
        let Some(tree) = text
            .trim()
            .strip_prefix(TREE)
            .filter(|rest| rest.is_empty() || rest.starts_with(' '))
        else {
            return spec(text).map(Self::Discipline);
        };
        let (file, limit) = tree
            .rsplit_once(" limit ")
            .map_or((tree, None), |(file, limit)| (file, Some(limit)));
        let file = file.trim().to_owned();
        if file.is_empty() {
            return Err(Fault::quoted(
                text,
                "a tree's name or file, as in \"tree home.toml\"",
            ));
        }
        let limit = limit
            .map(|limit| spec(&format!("fifo limit {}", limit.trim())))
            .transpose()?;
        Ok(Self::Tree {
            file,
            limit: limit.map(|spec| spec.limit_or_default()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urgency_is_a_rule_and_its_value() {
        assert_eq!(
            Urgency::from_text("fair 100mbit"),
            Ok(Urgency::Fair("100mbit".parse().unwrap()))
        );
        assert_eq!(
            Urgency::from_text("size 1s"),
            Ok(Urgency::FlowSize(Duration::from_secs(1)))
        );
        let cautious = Urgency::Cautious {
            step: Duration::from_secs(1),
            rate: "1gbit".parse().unwrap(),
        };
        assert_eq!(Urgency::from_text("cautious 1s 1gbit"), Ok(cautious));
        assert!(Urgency::from_text("cautious 1s").is_err());
        assert!(Urgency::from_text("size").is_err() && Urgency::from_text("haste 1s").is_err());
    }

    /// Formerly, a longer slack became one of 106 days, and nobody said so.
    #[test]
    fn slack_that_does_not_fit_into_a_header_is_refused() {
        for rule in ["slack", "size", "remaining", "deadline", "slack 1s plus"] {
            assert!(
                Urgency::from_text(&format!("{rule} 9158400s")).is_ok(),
                "{rule}"
            );
            let text = format!("{rule} 9158401s");
            assert_eq!(
                Urgency::from_text(&text).unwrap_err().to_string(),
                format!("'{text}': 9158401s: legal range 0 to 106 days, 9158400s")
            );
        }
        assert!(Urgency::from_text("cautious 9158401s 1gbit").is_err());
    }
}
