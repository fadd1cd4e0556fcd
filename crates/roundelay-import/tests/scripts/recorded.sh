qdisc del dev eth2 root
qdisc add dev eth2 root handle 1: hfsc default 2
class add dev eth2 parent 1: classid 1:1 hfsc sc rate 8mbit ul rate 8mbit
class add dev eth2 parent 1:1 classid 1:2 hfsc ls rate 6mbit
class add dev eth2 parent 1:1 classid 1:3 hfsc rt umax 1500 dmax 8ms rate 512kbit ls rate 512kbit
qdisc add dev eth2 parent 1:2 handle 2: sfq perturb 10 limit 100
qdisc add dev eth2 parent 1:3 handle 3: pfifo limit 30
filter add dev eth2 parent 1: protocol ip prio 1 u32 match udp dst 5060 0xffff at nexthdr+2 flowid 1:3
filter add dev eth2 parent 1: protocol ip prio 1 u32 match ip protocol 17 0xff match ip dport 5060 0xfffe flowid 1:3
