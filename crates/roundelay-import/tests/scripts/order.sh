# By hand: filters whose order a tree cannot have.
tc qdisc add dev eth0 root handle 1: htb default 3
tc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit
tc class add dev eth0 parent 1: classid 1:2 htb rate 1mbit
tc class add dev eth0 parent 1: classid 1:3 htb rate 1mbit
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dport 80 0xffff flowid 1:1
tc filter add dev eth0 parent 1: protocol ip prio 2 u32 match ip dst 10.0.0.0/8 flowid 1:2
tc filter add dev eth0 parent 1: protocol ip prio 3 u32 match ip sport 80 0xffff flowid 1:1
tc filter add dev eth0 parent 1: protocol ip prio 4 u32 match ip dport 81 0xffff flowid 1:1
