# What Wonder Shaper 1.4.1 ran at eth0 with 10 Mbit/s down and 2 Mbit/s up, recorded by roundelay import --run.
tc qdisc add dev eth0 root handle 1: htb default 20
tc class add dev eth0 parent 1: classid 1:1 htb rate 2000kbit prio 5
tc class add dev eth0 parent 1:1 classid 1:10 htb rate 400kbit ceil 1900kbit prio 1
tc class add dev eth0 parent 1:1 classid 1:20 htb rate 800kbit ceil 1900kbit prio 2
tc class add dev eth0 parent 1:1 classid 1:30 htb rate 400kbit ceil 1800kbit prio 3
tc qdisc add dev eth0 parent 1:10 handle 10: sfq perturb 10 quantum 6000
tc qdisc add dev eth0 parent 1:20 handle 20: sfq perturb 10 quantum 6000
tc qdisc add dev eth0 parent 1:30 handle 30: sfq perturb 10 quantum 6000
tc filter add dev eth0 parent 1: protocol ip prio 10 u32 match ip tos 0x10 0xff flowid 1:10
tc filter add dev eth0 parent 1: protocol ip prio 11 u32 match ip protocol 1 0xff flowid 1:10
tc filter add dev eth0 parent 1: protocol ip prio 12 u32 match ip protocol 6 0xff match u8 0x05 0x0f at 0 match u16 0x0000 0xffc0 at 2 flowid 1:10
tc filter add dev eth0 parent 1: protocol ip prio 18 u32 match ip dst 0.0.0.0/0 flowid 1:20
ip link set dev ifb0 up
tc qdisc add dev eth0 handle ffff: ingress
tc filter add dev eth0 parent ffff: protocol ip u32 match u32 0 0 action mirred egress redirect dev ifb0
tc qdisc add dev ifb0 root handle 2: htb
tc class add dev ifb0 parent 2: classid 2:1 htb rate 10000kbit
tc filter add dev ifb0 protocol ip parent 2: prio 1 u32 match ip src 0.0.0.0/0 flowid 2:1
