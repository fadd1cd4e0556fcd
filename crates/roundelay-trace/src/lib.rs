//! Captures in, flows found, disciplines compared on them.
