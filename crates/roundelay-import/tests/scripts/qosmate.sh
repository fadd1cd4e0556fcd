#!/bin/sh
# In the style of qosmate: hfsc for games, with a real-time class and netem or pfifo in it.
WAN=${WAN:-eth1}
RATE=${RATE:-30000}
GAMERATE=$((RATE * 15 / 100 + 400))
DUR=$((5 * 1500 * 8 / RATE))
[ $DUR -lt 25 ] && DUR=25

tc qdisc replace dev "$WAN" handle 1: root hfsc default 13
tc class add dev $WAN parent 1: classid 1:1 hfsc ls m2 "${RATE}kbit" ul m2 "${RATE}kbit"
tc class add dev $WAN parent 1:1 classid 1:11 hfsc rt m1 $((RATE * 97 / 100))kbit d ${DUR}ms m2 ${GAMERATE}kbit
tc class add dev $WAN parent 1:1 classid 1:12 hfsc ls m1 $((RATE * 70 / 100))kbit d 25ms m2 $((RATE * 30 / 100))kbit
tc class add dev $WAN parent 1:1 classid 1:13 hfsc ls m1 $((RATE * 20 / 100))kbit d 25ms m2 $((RATE * 45 / 100))kbit
tc class add dev $WAN parent 1:1 classid 1:15 hfsc sc m2 $((RATE * 5 / 100))kbit
case $GAMEQDISC in
    netem) tc qdisc add dev $WAN parent 1:11 handle 10: netem delay 10ms ;;
esac
tc qdisc add dev $WAN parent 1:11 handle 10: bfifo limit 30000
for i in 12 13 15; do
    tc qdisc add dev $WAN parent 1:$i fq_codel target 5ms limit 100
done
tc filter add dev $WAN parent 1: protocol ip prio 1 flower ip_proto udp dst_port 3074 classid 1:11
tc filter add dev $WAN parent 1: protocol ip prio 2 flower ip_tos 0x20/0xfc classid 1:15
tc filter add dev $WAN parent 1: protocol ipv6 prio 3 flower ip_tos 0x20/0xfc classid 1:15
tc filter add dev $WAN parent 1: prio 4 handle 46 fw classid 1:12
