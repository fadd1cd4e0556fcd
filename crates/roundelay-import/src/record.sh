#!/bin/sh
# Records a command in place of running it. Linked to the names of tc, ip and others in a folder at
# the front of PATH, it writes what a script would have run, and changes nothing.
log=${ROUNDELAY_RECORD:-/tmp/commands.sh}
name=${0##*/}

# The lines of a batch are commands too.
batch() {
    sed -e 's/^[[:blank:]]*//' -e '/^$/d' -e '/^#/d' -e "s/^/$name /" >> "$log"
    exit 0
}

# A file of rules is one command with all its lines.
rules() {
    {
        printf '%s\n' "nft -f - <<'END_OF_RULES'"
        cat "$1"
        printf '\n%s\n' END_OF_RULES
    } >> "$log"
    exit 0
}

line=$name
previous=
for word; do
    case $name$previous in
        *-b | *-batch)
            [ "$word" = - ] && batch
            batch < "$word"
            ;;
        nft-f | nft--file)
            [ "$word" = - ] && word=/dev/stdin
            rules "$word"
            ;;
    esac
    previous=$word
    case $word in
        '' | *[!A-Za-z0-9_@%+=:,./-]*)
            line="$line '$(printf %s "$word" | sed "s/'/'\\\\''/g")'"
            ;;
        *)
            line="$line $word"
            ;;
    esac
done
case $previous in
    -b | -batch | --batch) batch ;;
esac
printf '%s\n' "$line" >> "$log"

# There is no configuration, so a script takes its defaults.
case " $* " in
    *' get '* | *' show '*) [ "$name" != uci ] ;;
esac
