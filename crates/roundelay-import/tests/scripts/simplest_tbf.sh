# In the style of SQM's simplest_tbf.qos: a bucket, and fq_codel inside.
IF=eth1
tc qdisc replace dev $IF root handle 1: tbf rate 20Mbit burst 25000 latency 300ms
tc qdisc add dev $IF parent 1: handle 110: fq_codel limit 1001 noecn
