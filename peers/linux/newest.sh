#!/bin/sh
# The newest kernel of Debian's backports, unpacked and not installed, and modules that are built for it.
#
# usage: newest.sh TARGET SOURCES..   (TARGET/newest: boot, lib; TARGET/modules/newest: link.ko, sch_pie.ko)
#
# The kernel's headers need a newer compiler and C library than this system may have. So all packages that
# building needs are unpacked into a folder, which the compiler has as its root. apt gets lists and a status of
# its own, and the system's stay as they are.
set -eu
release=${NEWEST_RELEASE:-trixie}
target=$1
shift
mkdir -p "$target"
target=$(cd "$target" && pwd)
own=$target/newest.new
rm -rf "$own"
mkdir -p "$own/state/lists/partial" "$own/cache/archives/partial" "$own/root" "$own/image" "$own/boot"
: > "$own/state/status"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=$(sed -n 's/^URIs: *//p; s/^deb \([^[ ]*\) .*/\1/p' /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2> /dev/null | grep -v security | head -n 1)
for suite in "$release" "$release-backports"; do
	echo "deb [signed-by=$keyring] $mirror $suite main"
done > "$own/sources.list"
cat > "$own/apt.conf" << END
Dir::State "$own/state";
Dir::State::status "$own/state/status";
Dir::Cache "$own/cache";
Dir::Etc::sourcelist "$own/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Sandbox::User "root";
END
export APT_CONFIG="$own/apt.conf"
apt-get update
newest="$release-backports"
version=$(apt-get install -s --no-install-recommends -t "$newest" linux-headers-amd64 | sed -n 's/^Inst linux-headers-\([0-9][^ ]*-amd64\) .*/\1/p')
apt-get install -y --download-only --no-install-recommends -t "$newest" linux-headers-amd64 linux-libc-dev libc6-dev binutils make bash coreutils sed grep gawk dash findutils diffutils
for package in "$own"/cache/archives/*.deb; do dpkg -x "$package" "$own/root"; done
# Links that the packages make when they are installed.
ln -sf gawk "$own/root/usr/bin/awk"
mknod -m 666 "$own/root/dev/null" c 1 3
cd "$own"
series=$(echo "$version" | sed 's/^\([0-9]*\.[0-9]*\).*/\1/')
apt-get download -t "$newest" "linux-binary-$version" "linux-modules-$version" "linux-source-$series"
for package in linux-binary-*.deb linux-modules-*.deb; do dpkg -x "$package" image; done
lib=$(cd image/usr/lib && pwd)
mkdir -p lib
mv "$lib/modules" lib/
mv "lib/modules/$version/vmlinuz" "boot/vmlinuz-$version"
# Only what the guest may load: qdiscs, classifiers, and what these need.
find "lib/modules/$version" -name '*.ko.xz' ! -path '*/net/*' ! -path '*/lib/*' ! -path '*/crypto/*' -delete
find "lib/modules/$version" -name '*.ko.xz' -exec unxz {} +
depmod -b "$own" "$version" 2> /dev/null
# The kernel's tools read /proc.
mkdir -p root/proc
mount -t proc proc root/proc
trap 'umount "$own/root/proc"' EXIT
build() {
	mkdir -p "root/$1"
	chroot root /usr/bin/bash -c "PATH=/usr/bin make -s -C /usr/src/linux-headers-$version M=/$1 modules CONFIG_DEBUG_INFO_BTF_MODULES="
	mkdir -p "$target/modules/newest"
	cp "root/$1/$2" "$target/modules/newest/"
}
mkdir -p root/link root/known
sources=$OLDPWD
for source in "$@"; do
	case $source in
	*link.[ch]) cp "$sources/$source" root/link/ ;;
	*known.h) cp "$sources/$source" root/known/ ;;
	esac
done
echo 'obj-m := link.o' > root/link/Kbuild
build link link.ko
# The kernel's own PIE, with random numbers of a known sequence.
dpkg-deb --fsys-tarfile linux-source-*.deb | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' | tar -xJO --wildcards '*/net/sched/sch_pie.c' > root/known/sch_pie.c
# shellcheck disable=SC2016
printf 'obj-m := sch_pie.o\nccflags-y += -include $(src)/known.h\n' > root/known/Kbuild
build known sch_pie.ko
umount root/proc
trap - EXIT
rm -rf "$target/newest" root cache state image ./*.deb
mv "$own" "$target/newest"
touch "$target/newest"
