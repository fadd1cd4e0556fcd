#!/bin/sh
# Init process of the guest for lengths.py: an interface without a wire, and cake.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
modules=/usr/lib/uml/modules/$(uname -r)/kernel
busybox insmod "$modules/drivers/net/dummy.ko" numdummies=0
busybox insmod "$modules/net/sched/sch_cake.ko"
ip link set dev lo up
ip link add dummy0 type dummy
ip link set dev dummy0 mtu 9000 up
# shellcheck disable=SC2154
/usr/bin/python3 "$program" guest "$lengths" > "${lengths%/*}/lengths.out" 2>&1
sync
busybox poweroff -f
