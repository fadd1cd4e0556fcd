#!/bin/bash
# Free-threaded CPython 3.13 from Debian's source, for the tests of the Python package: python3.13t.sh FOLDER.
#
# The mirror is that of the machine's own apt sources, and the lists are private: apt's settings stay as they are. Libraries to
# build with are installed, as root.
set -euo pipefail
to=$(realpath --canonicalize-missing "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

needed=(gcc libc6-dev make xz-utils libssl-dev libffi-dev zlib1g-dev libbz2-dev liblzma-dev libsqlite3-dev)
dpkg --status "${needed[@]}" > /dev/null 2>&1 || { apt-get update && apt-get install -y --no-install-recommends "${needed[@]}"; }

mirror() { apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sed -n 1p; }
site=$(mirror)
test -n "$site" || { apt-get update && site=$(mirror); }
test -n "$site" || { echo "apt has no sources of Debian" >&2; exit 1; }
mkdir -p lists/partial cache/archives/partial
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site trixie main" > sources.list
# apt's own user may not read a folder of mktemp.
apt=(-o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
apt-get "${apt[@]}" update
apt-get "${apt[@]}" source --download-only python3.13
tar --extract --file python3.13_*.orig.tar.xz

cd Python-3.13.*
./configure --quiet --disable-gil --disable-test-modules --prefix="$to"
# One object file after another costs three CPU minutes; profile-guided optimisation would cost twenty.
make --jobs 2 --silent > "$work/log" 2>&1 || { tail -50 "$work/log" >&2; exit 1; }
rm -rf "$to"
# A Python installed in part must not count as installed.
trap 'rm -rf "$work" "$to"' EXIT
make --silent install > "$work/log" 2>&1 || { tail -50 "$work/log" >&2; exit 1; }
"$to/bin/python3.13t" -c 'import ctypes, lzma, sqlite3, ssl, sys, zlib; assert not sys._is_gil_enabled()'
trap 'rm -rf "$work"' EXIT
