# What SQM's simplest.qos ran at eth0 with 90 Mbit/s down and 18 Mbit/s up, recorded by roundelay import --run.
ip link add name SQM_IFB_406bd type ifb
tc qdisc replace dev SQM_IFB_406bd root htb
ip link set dev SQM_IFB_406bd down
ip link delete SQM_IFB_406bd type ifb
ip link add name SQM_IFB_42c49 type ifb
tc qdisc replace dev SQM_IFB_42c49 root htb
ip link set dev SQM_IFB_42c49 down
ip link delete SQM_IFB_42c49 type ifb
ip link add name SQM_IFB_3b941 type ifb
tc qdisc replace dev SQM_IFB_3b941 root fq_codel
ip link set dev SQM_IFB_3b941 down
ip link delete SQM_IFB_3b941 type ifb
tc -p filter show parent ffff: dev eth0
tc -p filter show parent ffff: dev eth0
ip link add name ifb4eth0 type ifb
tc qdisc del dev eth0 root
tc qdisc add dev eth0 root handle 1: htb default 10
tc class add dev eth0 parent 1: classid 1:1 htb quantum 2250 rate 18000kbit ceil 18000kbit burst 2250 cburst 2250
tc class add dev eth0 parent 1:1 classid 1:10 htb quantum 2250 rate 18000kbit ceil 18000kbit burst 2250 cburst 2250 prio 0
tc qdisc add dev eth0 parent 1:10 handle 110: fq_codel limit 1001 target 5000us interval 100000us ecn flows 1024
ip link add name SQM_IFB_b4e2b type ifb
tc qdisc replace dev SQM_IFB_b4e2b ingress
ip link set dev SQM_IFB_b4e2b down
ip link delete SQM_IFB_b4e2b type ifb
tc qdisc del dev eth0 handle ffff: ingress
tc qdisc add dev eth0 handle ffff: ingress
tc qdisc del dev ifb4eth0 root
tc qdisc add dev ifb4eth0 root handle 1: htb default 10
tc class add dev ifb4eth0 parent 1: classid 1:1 htb quantum 11250 rate 90000kbit ceil 90000kbit burst 11250 cburst 11250
tc class add dev ifb4eth0 parent 1:1 classid 1:10 htb quantum 11250 rate 90000kbit ceil 90000kbit burst 11250 cburst 11250 prio 0
tc qdisc add dev ifb4eth0 parent 1:10 handle 110: fq_codel limit 1001 target 5000us interval 100000us ecn flows 1024
ip link set dev ifb4eth0 up
tc filter add dev eth0 parent ffff: protocol all prio 10 u32 match u32 0 0 flowid 1:1 action mirred egress redirect dev ifb4eth0
