# In the style of what FireQOS runs: nested htb, a class for each name, and a default class.
tc qdisc add dev dsl0 root handle 1: stab linklayer adsl overhead 26 htb default 5000 r2q 8
tc class add dev dsl0 parent 1: classid 1:1 htb rate 10000kbit ceil 10000kbit prio 0 quantum 1500
tc class add dev dsl0 parent 1:1 classid 1:10 htb rate 100kbit ceil 10000kbit burst 1600 prio 1 quantum 1500
tc qdisc add dev dsl0 parent 1:10 handle 10: pfifo
tc class add dev dsl0 parent 1:1 classid 1:20 htb rate 7000kbit ceil 9000kbit prio 2
tc class add dev dsl0 parent 1:20 classid 1:21 htb rate 5000kbit ceil 9000kbit prio 0
tc class add dev dsl0 parent 1:20 classid 1:22 htb rate 3000kbit prio 1
tc qdisc add dev dsl0 parent 1:21 fq_codel
tc qdisc add dev dsl0 parent 1:22 fq_pie
tc class add dev dsl0 parent 1:1 classid 1:5000 htb rate 100kbit ceil 10000kbit prio 7
tc qdisc add dev dsl0 parent 1:5000 handle 5000: codel
tc filter add dev dsl0 parent 1: protocol all prio 10 u32 match ip protocol 17 0xff match ip dport 53 0xffff flowid 1:10
tc filter add dev dsl0 parent 1: protocol all prio 20 u32 match ip src 192.168.3.0/24 flowid 1:20
tc filter add dev dsl0 parent 1:20 protocol all prio 10 u32 match ip sport 80 0xffff flowid 1:22
tc filter add dev dsl0 parent 1:20 protocol all prio 20 u32 match ip dport 0 0 flowid 1:21
