# Marks and code points of a packet filter choose the class, as FlexQoS and qosmate set them.
tc qdisc add dev eth0 root handle 1: htb default 30
tc class add dev eth0 parent 1: classid 1:1 htb rate 20mbit
tc class add dev eth0 parent 1:1 classid 1:10 htb rate 2mbit ceil 20mbit prio 0
tc class add dev eth0 parent 1:1 classid 1:20 htb rate 8mbit ceil 20mbit prio 1
tc class add dev eth0 parent 1:1 classid 1:30 htb rate 10mbit ceil 20mbit prio 2
tc class add dev eth0 parent 1:1 classid 1:40 htb rate 1mbit ceil 20mbit prio 3
tc filter add dev eth0 parent 1: protocol ip prio 1 handle 0x10 fw flowid 1:10
tc filter add dev eth0 parent 1: protocol ip prio 2 handle 0x20/0xff fw flowid 1:20
tc filter add dev eth0 parent 1: protocol ip prio 3 u32 match ip tos 0x20 0xfc flowid 1:40
iptables -t mangle -A POSTROUTING -o eth0 -p udp -m multiport --dports 53,3478:3481 -j MARK --set-mark 0x10
iptables -t mangle -A POSTROUTING -o eth0 -p tcp --dport 443 -j MARK --set-mark 0x20
iptables -t mangle -A POSTROUTING -o eth0 -p tcp --dport 443 -d 192.0.2.7 -j MARK --set-mark 0x10
iptables -t mangle -A POSTROUTING -o eth0 -s 192.168.1.9 -j DSCP --set-dscp-class CS1
iptables -t mangle -A POSTROUTING -m connbytes --connbytes 1000000: -j MARK --set-mark 0x20
nft add rule inet fw post udp sport 51820 meta priority set 1:40
nft add rule inet fw post tcp dport 22 ip dscp set ef
