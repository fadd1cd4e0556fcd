#!/bin/sh
# Init process of the guest in virtual time: loads the modules of qdiscs and classifiers, and the link, runs the
# cases, and sends results, messages and status over the second serial line.
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
while read -r module; do insmod "/modules/$module" || echo "no module $module"; done < /modules/order
stty -F /dev/ttyS1 raw -echo
{
	timed /cases /results > /messages 2>&1
	status=$?
	cat /results 2> /dev/null
	sed 's/^/message /' /messages
	dmesg | sed -n 's/^/kernel /p' | grep -i -e quantum -e warn -e burst -e bug -e call || true
	echo "status $status"
} > /dev/ttyS1
poweroff -f
