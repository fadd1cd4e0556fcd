#!/usr/bin/env bash
# Makes the patches anew after the sources were formatted otherwise: each bug is planted in the sources of a commit that
# the patches still fit, these are formatted as today's are, and the difference to today's is the new patch.
# Usage: renew.sh COMMIT
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(git -C "$here" rev-parse --show-toplevel)
work=$(mktemp -d)
trap 'git -C "$root" worktree remove --force "$work/old"; rm -rf "$work"' EXIT
git -C "$root" worktree add --quiet --detach "$work/old" "$1"

for patch in "$here"/*.patch; do
  git -C "$work/old" checkout --quiet .
  git -C "$work/old" apply -C1 "$patch"
  mapfile -t files < <(git -C "$work/old" diff --name-only)
  cp "$root/rustfmt.toml" "$work/old/rustfmt.toml"
  (cd "$work/old" && cargo fmt -p roundelay)
  rm -rf "$work/a" "$work/b"
  for file in "${files[@]}"; do
    mkdir -p "$work/a/$(dirname "$file")" "$work/b/$(dirname "$file")"
    cp "$root/$file" "$work/a/$file"
    cp "$work/old/$file" "$work/b/$file"
  done
  (cd "$work" && git diff --no-index --no-prefix a b || true) | grep -vE '^(diff|index) ' > "$work/patch"
  [[ -s $work/patch ]] || { echo "renew: $(basename "$patch") changes nothing" >&2; exit 1; }
  mv "$work/patch" "$patch"
done
