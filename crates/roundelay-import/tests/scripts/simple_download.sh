# In the style of SQM's simple.qos for downloads: at an ifb, with ECN on.
IFACE=eth0
DEV=ifb4eth0
DOWN=45000
tc qdisc add dev $IFACE handle ffff: ingress
tc qdisc add dev $DEV root handle 1: htb default 10
tc class add dev $DEV parent 1: classid 1:1 htb quantum 2000 rate ${DOWN}kbit ceil ${DOWN}kbit burst 5625 cburst 5625
tc class add dev $DEV parent 1:1 classid 1:10 htb quantum 2000 rate ${DOWN}kbit ceil ${DOWN}kbit burst 5625 cburst 5625 prio 0
tc qdisc add dev $DEV parent 1:10 handle 110: fq_codel limit 1001 target 5ms interval 100ms ecn flows 1024
tc filter add dev $IFACE parent ffff: protocol all prio 10 matchall action mirred egress redirect dev $DEV
