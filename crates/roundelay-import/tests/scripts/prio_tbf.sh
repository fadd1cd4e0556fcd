# By hand: prio with a bucket in the last band.
tc qdisc add dev eth0 root handle 1: prio
tc qdisc add dev eth0 parent 1:1 handle 10: sfq
tc qdisc add dev eth0 parent 1:2 handle 20: tbf rate 2mbit burst 15k limit 30k
tc qdisc add dev eth0 parent 1:3 handle 30: pfifo limit 20
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dport 22 0xffff flowid 1:1
