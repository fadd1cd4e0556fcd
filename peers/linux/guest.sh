#!/bin/sh
# Init process of the guest: loads the modules of qdiscs, classifiers and `goto chain`, then runs work.sh of the
# shared directory (the kernel argument `work=`) there. Its output goes to work.out, its status to work.status.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
modules=/usr/lib/uml/modules/$(uname -r)
load() {
	line=$(grep "/$1.ko:" "$modules/modules.dep") || return
	files=
	for file in ${line#*:}; do files="$file $files"; done
	for file in $files ${line%%:*}; do busybox insmod "$modules/$file" 2> /dev/null; done
}
for module in slip dummy $(sed -n 's,.*/\(sch_[a-z_]*\|cls_[a-z0-9_]*\|act_gact\).ko:.*,\1,p' "$modules/modules.dep"); do load "$module"; done
# shellcheck disable=SC2154
mount -t hostfs none /mnt -o "$work"
ip link set dev lo up
cd /mnt || busybox poweroff -f
sh ./work.sh > work.out 2>&1
echo $? > work.status
dmesg > work.dmesg
sync
busybox poweroff -f
