# In the style of SQM's simplest.qos: one class of htb.
tc qdisc add dev eth0 root handle 1: htb default 10
tc class add dev eth0 parent 1: classid 1:1 htb rate 4500kbit ceil 4500kbit quantum 1500
tc class add dev eth0 parent 1:1 classid 1:10 htb rate 4500kbit ceil 4500kbit prio 0 quantum 1500
tc qdisc add dev eth0 parent 1:10 handle 110: fq_codel limit 1001 target 5ms interval 100ms noecn
