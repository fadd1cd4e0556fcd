#!/usr/bin/env bash
# Shows that the tests find bugs: plants those of README.md one by one in a copy of the repository and asks the tests named there to fail.
# Usage: run.sh [number...]; without numbers, all of them.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(git -C "$here" rev-parse --show-toplevel)
work=$root/target/seeded
tree=$work/tree
# What takes time here is compiling.
export CARGO_TARGET_DIR=$work/build CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=false RUST_BACKTRACE=0
# A bug that makes a test run for ever is not found.
limit=${SEEDED_SECONDS:-600}

fail() { echo "seeded: $*" >&2; exit 1; }

# Rows of the table: number, test.
rows() {
  awk -F '|' '$2 ~ /^ [0-9]+ $/ { test = $5; gsub(/[` ]/, "", test); print $2 + 0, test }' "$here/README.md"
}

# patch_of NUMBER: its file.
patch_of() {
  local files=("$here/$(printf %02d "$1")"-*.patch)
  [[ ${#files[@]} = 1 && -f ${files[0]} ]] || fail "bug $1 has no patch, or several"
  echo "${files[0]}"
}

# build; run TEST...: their output is in $work/log.
build() {
  (cd "$tree" && cargo test --quiet --locked -p roundelay --test all --no-run) > "$work/log" 2>&1
}
run() {
  (cd "$tree" && timeout "$limit" cargo test --locked -p roundelay --test all -- --exact "$@") > "$work/log" 2>&1
}

# plant PATCH [-R]: git finds the place by its context, so that edits nearby do no harm.
plant() {
  git -C "$root" apply -C1 --directory "${tree#"$root"/}" "${@:2}" "$1"
}

mapfile -t bugs < <(rows)
[[ ${#bugs[@]} = $(find "$here" -name '*.patch' | wc -l) ]] || fail "README.md has ${#bugs[@]} rows, not one for each patch"
if [[ $# -gt 0 ]]; then
  mapfile -t bugs < <(for number in "$@"; do printf '%s\n' "${bugs[@]}" | grep "^$((10#$number)) " || fail "there is no bug $number"; done)
fi

# Files get the time of the copy, so that nothing that an interrupted run built from a bug is taken for this.
rm -rf "$tree"
mkdir -p "$tree"
(cd "$root" && git ls-files -z | tar --null --ignore-failed-read -cf - -T -) | tar -xmf - -C "$tree"

mapfile -t tests < <(printf '%s\n' "${bugs[@]}" | cut -d ' ' -f 2 | sort -u)
build || { tail -n 40 "$work/log"; fail "the tests do not compile"; }
run "${tests[@]}" || { tail -n 40 "$work/log"; fail "without a bug, not all of the tests pass"; }
[[ $(grep -c '^test .* \.\.\. ok$' "$work/log") = "${#tests[@]}" ]] || fail "not all of these are tests: ${tests[*]}"
echo "without a bug: ${#tests[@]} tests pass"

survivors=0
for bug in "${bugs[@]}"; do
  read -r number test <<< "$bug"
  patch=$(patch_of "$number")
  name=$(basename "$patch" .patch)
  plant "$patch" || fail "$name: does not fit the source any more: make it anew"
  build || { tail -n 40 "$work/log"; fail "$name: does not compile: make it anew"; }
  if run "$test"; then
    echo "$name: SURVIVES $test"
    survivors=$((survivors + 1))
  elif grep -qxF "test $test ... FAILED" "$work/log"; then
    echo "$name: found by $test"
  else
    tail -n 40 "$work/log"
    fail "$name: $test did not come to an end"
  fi
  plant "$patch" -R
done
[[ $survivors = 0 ]] || fail "$survivors of ${#bugs[@]} bugs survive"
echo "all ${#bugs[@]} bugs are found"
