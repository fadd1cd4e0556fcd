# By hand: a bucket around bands, with a bucket, an htb and an hfsc in them.
IF=eth2
tc qdisc add dev $IF root handle 1: tbf rate 20mbit burst 10k latency 50ms peakrate 40mbit mtu 3k
tc qdisc add dev $IF parent 1:1 handle 2: prio bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1
tc qdisc add dev $IF parent 2:1 handle 10: tbf rate 1mbit burst 5k limit 10k
tc qdisc add dev $IF parent 10:1 handle 11: sfq
tc qdisc add dev $IF parent 2:2 handle 20: htb default 2 r2q 20
tc class add dev $IF parent 20: classid 20:1 htb rate 10mbit
tc class add dev $IF parent 20:1 classid 20:2 htb rate 8mbit ceil 10mbit
tc class add dev $IF parent 20:1 classid 20:3 htb rate 2mbit ceil 10mbit prio 1
tc qdisc add dev $IF parent 20:3 handle 21: tbf rate 1500kbit burst 4k limit 20k
tc qdisc add dev $IF parent 21:1 handle 22: fq_codel
tc filter add dev $IF parent 20: protocol ip prio 1 u32 match ip dport 443 0xffff flowid 20:3
tc qdisc add dev $IF parent 2:3 handle 30: hfsc default 1
tc class add dev $IF parent 30: classid 30:1 hfsc ls rate 5mbit ul rate 5mbit
