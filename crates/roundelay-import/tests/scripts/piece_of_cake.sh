# In the style of SQM's piece_of_cake.qos: a single cake each way.
IFACE=pppoe-wan
DEV=ifb4pppoe-wan
UP=18Mbit
DOWN=95Mbit

tc qdisc del dev $IFACE root 2>/dev/null
tc qdisc add dev $IFACE root handle 8001: cake bandwidth $UP besteffort nat wash overhead 34 mpu 68 ack-filter

ip link add name $DEV type ifb
ip link set dev $DEV up
tc qdisc add dev $IFACE handle ffff: ingress
tc filter add dev $IFACE parent ffff: protocol all prio 10 matchall action mirred egress redirect dev $DEV
tc qdisc add dev $DEV root cake bandwidth $DOWN besteffort ingress dual-dsthost nat
