# By hand: drr by quantum, after the example of its manual page.
tc qdisc add dev eth0 handle 1: root drr
tc class add dev eth0 parent 1: classid 1:1 drr quantum 3000
tc class add dev eth0 parent 1: classid 1:2 drr quantum 1500
tc qdisc add dev eth0 parent 1:2 choke limit 400 bandwidth 10mbit
tc filter add dev eth0 parent 1: protocol all matchall classid 1:2
tc filter add dev eth0 parent 1: protocol ip flower dst_ip 10.0.0.0/8 classid 1:1
