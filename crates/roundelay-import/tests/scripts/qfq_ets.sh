# By hand: qfq by weight, with bands of ets in one class.
tc qdisc add dev eth0 root handle 1: qfq
tc class add dev eth0 parent 1: classid 1:1 qfq weight 10
tc class add dev eth0 parent 1: classid 1:2 qfq weight 30 maxpkt 1600
tc qdisc add dev eth0 parent 1:2 handle 2: ets bands 3 strict 1 quanta 4000 2000 priomap 2 2 1 2 1 2 0
tc qdisc add dev eth0 parent 2:1 pfifo limit 10
tc filter add dev eth0 parent 1: protocol ip prio 1 flower dst_port 5000-5999 ip_proto udp flowid 1:1
tc filter add dev eth0 parent 1: protocol ip prio 2 matchall flowid 1:2
tc filter add dev eth0 parent 2: protocol ip prio 1 flower ip_tos 0xb8/0xfc flowid 2:1
