# By hand: what goes wrong.
tc qdisc add dev eth0 root handle 1: htb default 99 direct_qlen 500
tc class add dev eth0 parent 1: classid 1:1 htb rate 10mbps burst 15k
tc class add dev eth0 parent 1:1 classid 1:10 htb rate 60mbit ceil 30mbit burst 1000
tc class add dev eth0 parent 1:1 classid 1:20 htb rate 40mbit
tc class add dev eth0 parent 1:1 classid 1:30 htb rate 10kbit ceil 80mbit
tc qdisc add dev eth0 parent 1:10 handle 10: netem delay 20ms
tc qdisc add dev eth0 parent 10:1 fq_codel limit 20
tc qdisc add dev eth0 parent 1:20 cake bandwidth 50mbit
tc filter add dev eth0 parent 1: protocol ip u32 match ip dport 80 0xffff flowid 1:10
tc filter add dev eth0 parent 1: protocol ip u32 match ip sport 80 0xffff flowid 1:77
iptables -t mangle -A POSTROUTING -p udp -j MARK --set-mark 3
if [ -e /etc/more ]; then
    tc qdisc add dev eth0 parent 1:30 sfq
fi
