#!/bin/sh
# In the style of SQM's layer_cake.qos with options for each direction.
IFACE=wan
DEV=ifb4wan
UPLINK=35000
DOWNLINK=240000
IQDISC_OPTS="nat dual-dsthost ingress"
EQDISC_OPTS="nat dual-srchost ack-filter"
LLAM=cake
LINKLAYER=ethernet
OVERHEAD=22
STAB=
[ "$LLAM" = "cake" ] && STAB="overhead $OVERHEAD mpu 64 noatm"
[ "$LINKLAYER" = "atm" ] && STAB="overhead $OVERHEAD atm"

egress() {
    tc qdisc del dev $IFACE root 2> /dev/null
    tc qdisc add dev $IFACE root cake bandwidth ${UPLINK}kbit diffserv3 $STAB $EQDISC_OPTS
}
ingress() {
    tc qdisc del dev $IFACE handle ffff: ingress 2> /dev/null
    tc qdisc add dev $IFACE handle ffff: ingress
    tc qdisc del dev $DEV root 2> /dev/null
    tc qdisc add dev $DEV root cake bandwidth ${DOWNLINK}kbit besteffort wash $STAB $IQDISC_OPTS
    ip link set dev $DEV up
    tc filter add dev $IFACE parent ffff: protocol all prio 10 u32 match u32 0 0 flowid 1:1 \
        action mirred egress redirect dev $DEV
}
egress
ingress
