# What SQM's piece_of_cake.qos ran at eth0 with 90 Mbit/s down and 18 Mbit/s up, recorded by roundelay import --run.
ip link add name SQM_IFB_0d0ca type ifb
tc qdisc replace dev SQM_IFB_0d0ca root cake
ip link set dev SQM_IFB_0d0ca down
ip link delete SQM_IFB_0d0ca type ifb
ip link add name SQM_IFB_a6529 type ifb
tc qdisc replace dev SQM_IFB_a6529 root cake
ip link set dev SQM_IFB_a6529 down
ip link delete SQM_IFB_a6529 type ifb
ip link add name SQM_IFB_aaf0f type ifb
tc qdisc replace dev SQM_IFB_aaf0f root cake
ip link set dev SQM_IFB_aaf0f down
ip link delete SQM_IFB_aaf0f type ifb
tc -p filter show parent ffff: dev eth0
tc -p filter show parent ffff: dev eth0
ip link add name ifb4eth0 type ifb
tc qdisc del dev eth0 root
tc qdisc add dev eth0 root cake bandwidth 18000kbit diffserv3 nat besteffort
ip link add name SQM_IFB_7d7ac type ifb
tc qdisc replace dev SQM_IFB_7d7ac ingress
ip link set dev SQM_IFB_7d7ac down
ip link delete SQM_IFB_7d7ac type ifb
tc qdisc del dev eth0 handle ffff: ingress
tc qdisc add dev eth0 handle ffff: ingress
tc qdisc del dev ifb4eth0 root
tc qdisc add dev ifb4eth0 root cake bandwidth 90000kbit diffserv3 nat besteffort wash
ip link set dev ifb4eth0 up
tc filter add dev eth0 parent ffff: protocol all prio 10 u32 match u32 0 0 flowid 1:1 action mirred egress redirect dev ifb4eth0
