//! Markdown of texts that may come from untrusted files.

/// A text without meaning for Markdown: punctuation with a backslash, except for underscores in
/// words.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    let mut letters = text.chars().peekable();
    let mut is_in_word = false;
    while let Some(letter) = letters.next() {
        let is_before_word = letters.peek().is_some_and(|next| next.is_alphanumeric());
        let is_within_word = letter == '_' && is_in_word && is_before_word;
        if "\\`*_[]<#|~&@".contains(letter) && !is_within_word {
            escaped.push('\\');
        }
        escaped.push(letter);
        is_in_word = letter.is_alphanumeric();
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name from an untrusted file can be no link, image, mention or HTML.
    #[test]
    fn names_have_no_meaning_for_markdown() {
        let name = "![x](http://y) <b> #1 @me `c` *d* _e_ f_g ~~h~~ &amp; \\";
        assert_eq!(
            escaped(name),
            r"!\[x\](http://y) \<b> \#1 \@me \`c\` \*d\* \_e\_ f_g \~\~h\~\~ \&amp; \\"
        );
    }
}
