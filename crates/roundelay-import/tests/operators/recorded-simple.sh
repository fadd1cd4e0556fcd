# What SQM's simple.qos ran at eth0 with 90 Mbit/s down and 18 Mbit/s up, recorded by roundelay import --run.
ip link add name SQM_IFB_a18b3 type ifb
tc qdisc replace dev SQM_IFB_a18b3 root htb
ip link set dev SQM_IFB_a18b3 down
ip link delete SQM_IFB_a18b3 type ifb
iptables -w 1 -t mangle -X QOS_MARK_eth0
ip6tables -w 1 -t mangle -X QOS_MARK_eth0
iptables -w 1 -t mangle -N QOS_MARK_eth0
ip6tables -w 1 -t mangle -N QOS_MARK_eth0
iptables -w 1 -t mangle -D QOS_MARK_eth0 -j MARK --set-mark 0x2/0xff
ip6tables -w 1 -t mangle -D QOS_MARK_eth0 -j MARK --set-mark 0x2/0xff
iptables -w 1 -t mangle -A QOS_MARK_eth0 -j MARK --set-mark 0x2/0xff
ip6tables -w 1 -t mangle -A QOS_MARK_eth0 -j MARK --set-mark 0x2/0xff
iptables -w 1 -t mangle -D QOS_MARK_eth0 -m dscp --dscp-class CS1 -j MARK --set-mark 0x3/0xff
ip6tables -w 1 -t mangle -D QOS_MARK_eth0 -m dscp --dscp-class CS1 -j MARK --set-mark 0x3/0xff
iptables -w 1 -t mangle -A QOS_MARK_eth0 -m dscp --dscp-class CS1 -j MARK --set-mark 0x3/0xff
ip6tables -w 1 -t mangle -A QOS_MARK_eth0 -m dscp --dscp-class CS1 -j MARK --set-mark 0x3/0xff
iptables -w 1 -t mangle -D QOS_MARK_eth0 -m dscp --dscp-class CS6 -j MARK --set-mark 0x1/0xff
ip6tables -w 1 -t mangle -D QOS_MARK_eth0 -m dscp --dscp-class CS6 -j MARK --set-mark 0x1/0xff
iptables -w 1 -t mangle -A QOS_MARK_eth0 -m dscp --dscp-class CS6 -j MARK --set-mark 0x1/0xff
ip6tables -w 1 -t mangle -A QOS_MARK_eth0 -m dscp --dscp-class CS6 -j MARK --set-mark 0x1/0xff
iptables -w 1 -t mangle -D QOS_MARK_eth0 -m dscp --dscp-class EF -j MARK --set-mark 0x1/0xff
ip6tables -w 1 -t mangle -D QOS_MARK_eth0 -m dscp --dscp-class EF -j MARK --set-mark 0x1/0xff
iptables -w 1 -t mangle -A QOS_MARK_eth0 -m dscp --dscp-class EF -j MARK --set-mark 0x1/0xff
ip6tables -w 1 -t mangle -A QOS_MARK_eth0 -m dscp --dscp-class EF -j MARK --set-mark 0x1/0xff
iptables -w 1 -t mangle -D QOS_MARK_eth0 -m dscp --dscp-class AF42 -j MARK --set-mark 0x1/0xff
ip6tables -w 1 -t mangle -D QOS_MARK_eth0 -m dscp --dscp-class AF42 -j MARK --set-mark 0x1/0xff
iptables -w 1 -t mangle -A QOS_MARK_eth0 -m dscp --dscp-class AF42 -j MARK --set-mark 0x1/0xff
ip6tables -w 1 -t mangle -A QOS_MARK_eth0 -m dscp --dscp-class AF42 -j MARK --set-mark 0x1/0xff
iptables -w 1 -t mangle -D QOS_MARK_eth0 -m tos --tos Minimize-Delay -j MARK --set-mark 0x1/0xff
ip6tables -w 1 -t mangle -D QOS_MARK_eth0 -m tos --tos Minimize-Delay -j MARK --set-mark 0x1/0xff
iptables -w 1 -t mangle -A QOS_MARK_eth0 -m tos --tos Minimize-Delay -j MARK --set-mark 0x1/0xff
ip6tables -w 1 -t mangle -A QOS_MARK_eth0 -m tos --tos Minimize-Delay -j MARK --set-mark 0x1/0xff
iptables -w 1 -t mangle -D PREROUTING -i eth0 -m dscp '!' --dscp 0 -j DSCP --set-dscp-class be
ip6tables -w 1 -t mangle -D PREROUTING -i eth0 -m dscp '!' --dscp 0 -j DSCP --set-dscp-class be
iptables -w 1 -t mangle -I PREROUTING -i eth0 -m dscp '!' --dscp 0 -j DSCP --set-dscp-class be
ip6tables -w 1 -t mangle -I PREROUTING -i eth0 -m dscp '!' --dscp 0 -j DSCP --set-dscp-class be
iptables -w 1 -t mangle -D POSTROUTING -o eth0 -m mark --mark 0x00/0xff -g QOS_MARK_eth0
ip6tables -w 1 -t mangle -D POSTROUTING -o eth0 -m mark --mark 0x00/0xff -g QOS_MARK_eth0
iptables -w 1 -t mangle -A POSTROUTING -o eth0 -m mark --mark 0x00/0xff -g QOS_MARK_eth0
ip6tables -w 1 -t mangle -A POSTROUTING -o eth0 -m mark --mark 0x00/0xff -g QOS_MARK_eth0
iptables -w 1 -t mangle -D PREROUTING -i vtun+ -p tcp -j MARK --set-mark 0x2/0xff
ip6tables -w 1 -t mangle -D PREROUTING -i vtun+ -p tcp -j MARK --set-mark 0x2/0xff
iptables -w 1 -t mangle -I PREROUTING -i vtun+ -p tcp -j MARK --set-mark 0x2/0xff
ip6tables -w 1 -t mangle -I PREROUTING -i vtun+ -p tcp -j MARK --set-mark 0x2/0xff
iptables -w 1 -t mangle -D OUTPUT -p udp -m multiport --ports 123,53 -j DSCP --set-dscp-class AF42
ip6tables -w 1 -t mangle -D OUTPUT -p udp -m multiport --ports 123,53 -j DSCP --set-dscp-class AF42
iptables -w 1 -t mangle -A OUTPUT -p udp -m multiport --ports 123,53 -j DSCP --set-dscp-class AF42
ip6tables -w 1 -t mangle -A OUTPUT -p udp -m multiport --ports 123,53 -j DSCP --set-dscp-class AF42
ip link add name SQM_IFB_34d45 type ifb
tc qdisc replace dev SQM_IFB_34d45 root htb
ip link set dev SQM_IFB_34d45 down
ip link delete SQM_IFB_34d45 type ifb
iptables -w 1 -t mangle -X QOS_MARK_eth0
ip6tables -w 1 -t mangle -X QOS_MARK_eth0
iptables -w 1 -t mangle -N QOS_MARK_eth0
ip6tables -w 1 -t mangle -N QOS_MARK_eth0
iptables -w 1 -t mangle -D QOS_MARK_eth0 -j MARK --set-mark 0x2/0xff
ip6tables -w 1 -t mangle -D QOS_MARK_eth0 -j MARK --set-mark 0x2/0xff
iptables -w 1 -t mangle -A QOS_MARK_eth0 -j MARK --set-mark 0x2/0xff
ip6tables -w 1 -t mangle -A QOS_MARK_eth0 -j MARK --set-mark 0x2/0xff
iptables -w 1 -t mangle -D QOS_MARK_eth0 -m dscp --dscp-class CS1 -j MARK --set-mark 0x3/0xff
ip6tables -w 1 -t mangle -D QOS_MARK_eth0 -m dscp --dscp-class CS1 -j MARK --set-mark 0x3/0xff
iptables -w 1 -t mangle -A QOS_MARK_eth0 -m dscp --dscp-class CS1 -j MARK --set-mark 0x3/0xff
ip6tables -w 1 -t mangle -A QOS_MARK_eth0 -m dscp --dscp-class CS1 -j MARK --set-mark 0x3/0xff
iptables -w 1 -t mangle -D QOS_MARK_eth0 -m dscp --dscp-class CS6 -j MARK --set-mark 0x1/0xff
ip6tables -w 1 -t mangle -D QOS_MARK_eth0 -m dscp --dscp-class CS6 -j MARK --set-mark 0x1/0xff
iptables -w 1 -t mangle -A QOS_MARK_eth0 -m dscp --dscp-class CS6 -j MARK --set-mark 0x1/0xff
ip6tables -w 1 -t mangle -A QOS_MARK_eth0 -m dscp --dscp-class CS6 -j MARK --set-mark 0x1/0xff
iptables -w 1 -t mangle -D QOS_MARK_eth0 -m dscp --dscp-class EF -j MARK --set-mark 0x1/0xff
ip6tables -w 1 -t mangle -D QOS_MARK_eth0 -m dscp --dscp-class EF -j MARK --set-mark 0x1/0xff
iptables -w 1 -t mangle -A QOS_MARK_eth0 -m dscp --dscp-class EF -j MARK --set-mark 0x1/0xff
ip6tables -w 1 -t mangle -A QOS_MARK_eth0 -m dscp --dscp-class EF -j MARK --set-mark 0x1/0xff
iptables -w 1 -t mangle -D QOS_MARK_eth0 -m dscp --dscp-class AF42 -j MARK --set-mark 0x1/0xff
ip6tables -w 1 -t mangle -D QOS_MARK_eth0 -m dscp --dscp-class AF42 -j MARK --set-mark 0x1/0xff
iptables -w 1 -t mangle -A QOS_MARK_eth0 -m dscp --dscp-class AF42 -j MARK --set-mark 0x1/0xff
ip6tables -w 1 -t mangle -A QOS_MARK_eth0 -m dscp --dscp-class AF42 -j MARK --set-mark 0x1/0xff
iptables -w 1 -t mangle -D QOS_MARK_eth0 -m tos --tos Minimize-Delay -j MARK --set-mark 0x1/0xff
ip6tables -w 1 -t mangle -D QOS_MARK_eth0 -m tos --tos Minimize-Delay -j MARK --set-mark 0x1/0xff
iptables -w 1 -t mangle -A QOS_MARK_eth0 -m tos --tos Minimize-Delay -j MARK --set-mark 0x1/0xff
ip6tables -w 1 -t mangle -A QOS_MARK_eth0 -m tos --tos Minimize-Delay -j MARK --set-mark 0x1/0xff
iptables -w 1 -t mangle -D PREROUTING -i eth0 -m dscp '!' --dscp 0 -j DSCP --set-dscp-class be
ip6tables -w 1 -t mangle -D PREROUTING -i eth0 -m dscp '!' --dscp 0 -j DSCP --set-dscp-class be
iptables -w 1 -t mangle -I PREROUTING -i eth0 -m dscp '!' --dscp 0 -j DSCP --set-dscp-class be
ip6tables -w 1 -t mangle -I PREROUTING -i eth0 -m dscp '!' --dscp 0 -j DSCP --set-dscp-class be
iptables -w 1 -t mangle -D POSTROUTING -o eth0 -m mark --mark 0x00/0xff -g QOS_MARK_eth0
ip6tables -w 1 -t mangle -D POSTROUTING -o eth0 -m mark --mark 0x00/0xff -g QOS_MARK_eth0
iptables -w 1 -t mangle -A POSTROUTING -o eth0 -m mark --mark 0x00/0xff -g QOS_MARK_eth0
ip6tables -w 1 -t mangle -A POSTROUTING -o eth0 -m mark --mark 0x00/0xff -g QOS_MARK_eth0
iptables -w 1 -t mangle -D PREROUTING -i vtun+ -p tcp -j MARK --set-mark 0x2/0xff
ip6tables -w 1 -t mangle -D PREROUTING -i vtun+ -p tcp -j MARK --set-mark 0x2/0xff
iptables -w 1 -t mangle -I PREROUTING -i vtun+ -p tcp -j MARK --set-mark 0x2/0xff
ip6tables -w 1 -t mangle -I PREROUTING -i vtun+ -p tcp -j MARK --set-mark 0x2/0xff
iptables -w 1 -t mangle -D OUTPUT -p udp -m multiport --ports 123,53 -j DSCP --set-dscp-class AF42
ip6tables -w 1 -t mangle -D OUTPUT -p udp -m multiport --ports 123,53 -j DSCP --set-dscp-class AF42
iptables -w 1 -t mangle -A OUTPUT -p udp -m multiport --ports 123,53 -j DSCP --set-dscp-class AF42
ip6tables -w 1 -t mangle -A OUTPUT -p udp -m multiport --ports 123,53 -j DSCP --set-dscp-class AF42
ip link add name SQM_IFB_32dd9 type ifb
tc qdisc replace dev SQM_IFB_32dd9 root fq_codel
ip link set dev SQM_IFB_32dd9 down
ip link delete SQM_IFB_32dd9 type ifb
tc -p filter show parent ffff: dev eth0
tc -p filter show parent ffff: dev eth0
ip link add name ifb4eth0 type ifb
tc qdisc del dev eth0 root
tc qdisc add dev eth0 root handle 1: htb default 12
tc class add dev eth0 parent 1: classid 1:1 htb quantum 2250 rate 18000kbit ceil 18000kbit burst 2250 cburst 2250
tc class add dev eth0 parent 1:1 classid 1:11 htb quantum 2250 rate 128kbit ceil 6000kbit prio 1
tc class add dev eth0 parent 1:1 classid 1:12 htb quantum 2250 rate 3000kbit ceil 17984kbit burst 2250 cburst 2250 prio 2
tc class add dev eth0 parent 1:1 classid 1:13 htb quantum 2250 rate 3000kbit ceil 17984kbit burst 2250 cburst 2250 prio 3
tc qdisc add dev eth0 parent 1:11 handle 110: fq_codel limit 1001 target 5000us interval 100000us ecn quantum 300 flows 1024
tc qdisc add dev eth0 parent 1:12 handle 120: fq_codel limit 1001 target 5000us interval 100000us ecn quantum 300 flows 1024
tc qdisc add dev eth0 parent 1:13 handle 130: fq_codel limit 1001 target 5000us interval 100000us ecn quantum 300 flows 1024
tc filter add dev eth0 parent 1:0 protocol all prio 999 u32 match ip protocol 0 0x00 flowid 1:12
tc filter add dev eth0 parent 1:0 protocol ip prio 1 handle 1/0xff fw classid 1:11
tc filter add dev eth0 parent 1:0 protocol ip prio 2 handle 2/0xff fw classid 1:12
tc filter add dev eth0 parent 1:0 protocol ip prio 3 handle 3/0xff fw classid 1:13
tc filter add dev eth0 parent 1:0 protocol ipv6 prio 4 handle 1/0xff fw classid 1:11
tc filter add dev eth0 parent 1:0 protocol ipv6 prio 5 handle 2/0xff fw classid 1:12
tc filter add dev eth0 parent 1:0 protocol ipv6 prio 6 handle 3/0xff fw classid 1:13
tc filter add dev eth0 parent 1:0 protocol arp prio 7 handle 1/0xff fw classid 1:11
tc filter add dev eth0 parent 1:0 protocol ip prio 8 u32 match ip protocol 1 0xff flowid 1:13
tc filter add dev eth0 parent 1:0 protocol ipv6 prio 9 u32 match ip protocol 1 0xff flowid 1:13
ip link add name SQM_IFB_1b1fd type ifb
tc qdisc replace dev SQM_IFB_1b1fd ingress
ip link set dev SQM_IFB_1b1fd down
ip link delete SQM_IFB_1b1fd type ifb
tc qdisc del dev eth0 handle ffff: ingress
tc qdisc add dev eth0 handle ffff: ingress
tc qdisc del dev ifb4eth0 root
tc qdisc add dev ifb4eth0 root handle 1: htb default 10
tc class add dev ifb4eth0 parent 1: classid 1:1 htb quantum 11250 rate 90000kbit ceil 90000kbit burst 11250 cburst 11250
tc class add dev ifb4eth0 parent 1:1 classid 1:10 htb quantum 11250 rate 90000kbit ceil 90000kbit burst 11250 cburst 11250 prio 0
tc qdisc add dev ifb4eth0 parent 1:10 handle 110: fq_codel limit 1001 target 5000us interval 100000us ecn flows 1024
ip link set dev ifb4eth0 up
tc filter add dev eth0 parent ffff: protocol all prio 10 u32 match u32 0 0 flowid 1:1 action mirred egress redirect dev ifb4eth0
