#!/usr/bin/env bash
# Fetches captures that others made, for tests on traffic that we did not make: fetch.sh DIR
#
#   DIR/gopacket   the Go module github.com/google/gopacket (BSD-3-Clause)
#   DIR/ndpi       Debian's source package ndpi (LGPL-3)
#   DIR/tcpdump    Debian's source package tcpdump (BSD-3-Clause)
#
# Where a folder is already there and whole it is left alone. Each may fail on its own, with a message; one of them has to succeed. They are
# not for shipping: they stay outside the repository or in a folder that it ignores.
#
# Needs: go for the first; apt-get and Debian's or Ubuntu's package sources for the others. Of the system's own package lists only the mirror's
# address is read, and nothing is changed.
set -euo pipefail

readonly gopacket=github.com/google/gopacket@v1.1.19

fail() {
    echo "fetch.sh: $*" >&2
    return 1
}

need() {
    command -v "$1" >/dev/null || fail "$1 is missing: $2 not fetched"
}

# Copies the captures below $1 to $2, which appears once it is whole.
keep_captures() {
    local from=$1 to=$2
    rm -rf "$to.partial"
    mkdir -p "$to.partial"
    (cd "$from" && find . -type f \( -name '*.pcap' -o -name '*.pcapng' -o -name '*.cap' \) -exec cp --parents -t "$to.partial" {} +)
    chmod -R u+w "$to.partial"
    [ -n "$(find "$to.partial" -type f -print -quit)" ] || fail "no captures in $from"
    mv "$to.partial" "$to"
}

fetch_gopacket() {
    need go gopacket || return 1
    local work=$scratch/go description module
    mkdir -p "$work"
    description=$(cd "$work" && printf 'module fetch\n' >go.mod && go mod download -json "$gopacket") ||
        fail "go mod download $gopacket failed: $description" || return 1
    module=$(sed -n 's/^[[:space:]]*"Dir": "\(.*\)",\{0,1\}$/\1/p' <<<"$description")
    [ -d "$module" ] || fail "go mod download $gopacket gave no folder" || return 1
    keep_captures "$module" "$captures/gopacket"
}

# Where the system's packages come from, asked for their sources.
source_lists() {
    local distribution file
    # shellcheck source=/dev/null
    distribution=$(. /etc/os-release && echo "$ID")
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -e "$file" ] || continue
        # A stanza of several lines, ended by an empty one.
        awk -v distribution="/$distribution" 'BEGIN { RS = ""; FS = "\n" } index($0, distribution) { print $0 "\n" }' "$file" |
            sed -e '/^#/d' -e 's/^Types:.*/Types: deb-src/' >"$scratch/apt/sources/$(basename "$file")"
    done
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -e "$file" ] || continue
        sed -n "\\|/$distribution|s/^deb[[:space:]]/deb-src /p" "$file" >"$scratch/apt/sources/$(basename "$file" .list).list"
    done
}

apt() {
    apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$scratch/apt/sources" -o Dir::State::lists="$scratch/apt/lists" \
        -o Dir::Cache="$scratch/apt/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}

# Reads the mirror's list of sources, once.
update_sources() {
    [ ! -e "$scratch/apt/updated" ] || return 0
    mkdir -p "$scratch/apt/"{sources,lists/partial,cache/archives/partial}
    source_lists
    apt update || fail "apt-get update failed" || return 1
    touch "$scratch/apt/updated"
}

# The archive of the package's authors holds the captures; Debian's own part is not needed.
fetch_debian() {
    local package=$1 work=$scratch/$1
    need apt-get "$package" || return 1
    update_sources || return 1
    mkdir -p "$work/unpacked"
    (cd "$work" && apt source --tar-only --download-only "$package" >log 2>&1) ||
        fail "apt-get source $package failed: $(tail -n 3 "$work/log")" || return 1
    tar -xf "$(find "$work" -maxdepth 1 -name '*.tar.*' ! -name '*.asc' -print -quit)" -C "$work/unpacked" || return 1
    keep_captures "$work/unpacked" "$captures/$package"
}

# Fetches $1 with the rest of the words, unless it is there.
fetch() {
    local name=$1
    shift
    [ -d "$captures/$name" ] || "$@" || return 1
    echo "$name: $(find "$captures/$name" -type f | wc -l) captures"
}

[ $# -eq 1 ] || { fail "usage: fetch.sh DIR" || exit 2; }
mkdir -p "$1"
captures=$(cd "$1" && pwd)
scratch=$(mktemp -d)
# Go makes what it unpacks read-only.
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT

fetched=0
fetch gopacket fetch_gopacket && fetched=$((fetched + 1))
fetch ndpi fetch_debian ndpi && fetched=$((fetched + 1))
fetch tcpdump fetch_debian tcpdump && fetched=$((fetched + 1))
[ "$fetched" -gt 0 ] || { fail "nothing could be fetched" || exit 1; }
