#!/bin/sh
# A script in the style of SQM's simple.qos: htb with three classes and fq_codel leaves.
IFACE=${IFACE:-eth0}
UPLINK=${UPLINK:-9000}
QDISC=${QDISC:-fq_codel}
TC=$(command -v tc)
LIMIT=1001
TARGET=5ms
ECN=noecn

PRIO_RATE=$((UPLINK / 3))
BE_RATE=$((UPLINK / 6))
BK_RATE=$((UPLINK / 6))

leaf() {
    $TC qdisc add dev $IFACE parent $1 handle $2 $QDISC limit $LIMIT target $TARGET $ECN quantum 300
}

egress() {
    $TC qdisc del dev "$IFACE" root 2> /dev/null
    $TC qdisc add dev "$IFACE" root handle 1: htb default 12
    $TC class add dev "$IFACE" parent 1: classid 1:1 htb quantum 1514 \
        rate ${UPLINK}kbit ceil ${UPLINK}kbit burst 1600 cburst 1600
    $TC class add dev $IFACE parent 1:1 classid 1:11 htb rate ${PRIO_RATE}kbit ceil ${UPLINK}kbit prio 1 quantum 1514
    $TC class add dev $IFACE parent 1:1 classid 1:12 htb rate ${BE_RATE}kbit ceil ${UPLINK}kbit prio 2 quantum 1514
    $TC class add dev $IFACE parent 1:1 classid 1:13 htb rate ${BK_RATE}kbit ceil ${UPLINK}kbit prio 3 quantum 1514
    leaf 1:11 110:
    leaf 1:12 120:
    leaf 1:13 130:
    $TC filter add dev $IFACE parent 1:0 protocol ip prio 1 handle 1 fw classid 1:11
    $TC filter add dev $IFACE parent 1:0 protocol ip prio 10 u32 match ip tos 0xb8 0xfc classid 1:11
    $TC filter add dev $IFACE parent 1:0 protocol ip prio 11 u32 match ip tos 0x20 0xfc classid 1:13
}

[ -n "$UPLINK" ] && egress
