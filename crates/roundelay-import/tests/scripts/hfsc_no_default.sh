# By hand: hfsc without a default class, and an inner class without link-sharing.
tc qdisc add dev ppp0 root handle 1: hfsc
tc class add dev ppp0 parent 1: classid 1:1 hfsc rt rate 1mbit
tc class add dev ppp0 parent 1:1 classid 1:10 hfsc ls rate 700kbit ul rate 1mbit
tc class add dev ppp0 parent 1:1 classid 1:11 hfsc rt m1 0 d 10ms m2 300kbit
tc filter add dev ppp0 parent 1: protocol ip prio 1 flower ip_proto tcp dst_port 80 classid 1:10
tc filter add dev ppp0 parent 1: protocol ipv6 prio 2 flower src_ip 2001:db8:1::/48 classid 1:11
