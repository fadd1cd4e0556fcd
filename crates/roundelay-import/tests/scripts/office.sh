# By hand: htb for departments, drr inside one, cake and prio inside others.
UP=100
TC=/usr/sbin/tc
$TC qdisc add dev lan0 root handle 1: htb default 30 r2q 100
$TC class add dev lan0 parent 1: classid 1:1 htb rate ${UP}mbit burst 20k
$TC class add dev lan0 parent 1:1 classid 1:10 htb rate $((UP / 2))mbit ceil ${UP}mbit burst 20k
$TC class add dev lan0 parent 1:1 classid 1:20 htb rate $((UP / 4))mbit ceil ${UP}mbit
$TC class add dev lan0 parent 1:1 classid 1:30 htb rate $((UP / 4))mbit ceil ${UP}mbit prio 2
$TC qdisc add dev lan0 parent 1:10 handle 10: drr
$TC class add dev lan0 parent 10: classid 10:1 drr quantum 6056
$TC class add dev lan0 parent 10: classid 10:2 drr
$TC qdisc add dev lan0 parent 10:1 fq_codel
$TC qdisc add dev lan0 parent 10:2 sfq
$TC qdisc add dev lan0 parent 1:20 handle 20: prio bands 2 priomap 1 1 1 1 1 1 0 1 1 1 1 1 1 1 1 1
$TC qdisc add dev lan0 parent 20:1 pfifo limit 50
$TC qdisc add dev lan0 parent 20:2 red limit 200000 min 20000 max 60000 avpkt 1000 burst 40 probability 0.05 ecn
$TC qdisc add dev lan0 parent 1:30 cake besteffort
$TC filter add dev lan0 parent 1: protocol ip prio 1 u32 match ip dst 10.1.0.0/16 flowid 1:10
$TC filter add dev lan0 parent 1: protocol ip prio 1 u32 match ip dst 10.2.0.0/16 flowid 1:20
$TC filter add dev lan0 parent 10: protocol ip prio 1 flower ip_proto tcp src_port 443 classid 10:1
$TC filter add dev lan0 parent 10: protocol all prio 9 matchall classid 10:2
$TC filter add dev lan0 parent 20: protocol ip prio 1 u32 match ip dport 5000 0xffff flowid 20:1
