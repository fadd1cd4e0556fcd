# In the style of LibreQoS: a batch with a circuit for each customer, cake in each.
tc qdisc replace dev eth1 root handle 7fff: mq
tc qdisc replace dev eth0 root handle 7fff: mq
tc -batch - <<END
qdisc add dev eth0 parent 7fff:1 handle 1: htb default 2
qdisc add dev eth0 parent 7fff:2 handle 2: htb default 2
class add dev eth0 parent 1: classid 1:1 htb rate 1gbit ceil 1gbit
class add dev eth0 parent 1:1 classid 1:2 htb rate 10mbit ceil 1gbit prio 5
qdisc add dev eth0 parent 1:2 cake diffserv4
class add dev eth0 parent 1:1 classid 1:3 htb rate 400mbit ceil 500mbit prio 3
class add dev eth0 parent 1:3 classid 1:4 htb rate 50mbit ceil 100mbit prio 3
qdisc add dev eth0 parent 1:4 handle 4: cake diffserv4
class add dev eth0 parent 1:3 classid 1:5 htb rate 25mbit ceil 50mbit prio 3
qdisc add dev eth0 parent 1:5 handle 5: cake diffserv4 bandwidth 60mbit
filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dst 100.64.0.4/32 flowid 1:4
filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dst 100.64.0.5 flowid 1:5
END
