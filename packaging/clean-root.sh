#!/bin/sh
# A release from the last commit, built in a Debian of its own: only what the system's packages and Rust's
# own release bring is there, and no network once the dependencies are fetched. As root.
#
#   clean-root.sh CLONE ROOT FILES   CLONE: the repository; ROOT: the new system, removed after a success;
#                                    FILES: where the files of the release go
set -eu
clone=$1 root=$2 files=$3
packages=ca-certificates,gcc,libc6-dev,make,git,man-db,mount,musl-tools,python3,python3-venv

rm -rf --one-file-system "$root"
site=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -n 1)
. /etc/os-release
mmdebstrap --quiet --variant=apt --include="$packages" "$VERSION_CODENAME" "$root" "$site"
cp -r "$(rustc --print sysroot)/." "$root/usr/local"
# The certificates and the registry of packages of Python, if this machine has its own.
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs"
for file in /etc/resolv.conf /etc/hosts /etc/pip.conf; do
  if test -f "$file"; then cp "$file" "$root$file"; fi
done
git clone --quiet "$clone" "$root/roundelay"

fetch='mount -t proc proc /proc && make -C /roundelay release-fetch'
unshare --mount --pid --fork chroot "$root" env -u CARGO_HOME -u RUSTUP_HOME -u CARGO_TARGET_DIR HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -ec "$fetch"
# From here on nothing of this machine's environment and no network.
build='mount -t proc proc /proc && mount -t devtmpfs dev /dev && make -C /roundelay release ADVISORIES=unchecked'
unshare --net --mount --pid --fork chroot "$root" env -i HOME=/root CARGO_NET_OFFLINE=true \
  PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -ec "$build"
rm -rf "$files"
cp -r "$root/roundelay/target/release-files" "$files"
rm -rf --one-file-system "$root"
