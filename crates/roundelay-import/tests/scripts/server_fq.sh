# By hand: a server with fq, as for BBR.
for dev in eth0 eth1; do
    tc qdisc replace dev $dev root fq limit 20000 flow_limit 200 maxrate 500mbit quantum 3028 horizon 10s
done
