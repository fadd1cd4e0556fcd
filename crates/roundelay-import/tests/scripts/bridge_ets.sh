# By hand: ets at a port, as in data centres, with a bucket and pie in two bands.
PORT=swp1
tc qdisc replace dev $PORT root handle 1: ets bands 8 strict 2 quanta 9000 6000 3000 priomap 7 6 5 4 3 2 1 0
for band in $(seq 1 8); do
    tc qdisc add dev $PORT parent 1:$(printf %x $band) handle $((band * 10)): pfifo limit 200
done
tc qdisc replace dev $PORT parent 1:2 handle 120: tbf rate 100mbit burst 16k limit 60k peakrate 200mbit mtu 1540
tc qdisc replace dev $PORT parent 1:3 handle 130: pie limit 500 target 20ms tupdate 15ms bytemode
tc filter add dev $PORT parent 1: protocol ip prio 1 flower ip_tos 0xc0/0xe0 classid 1:1
tc filter add dev $PORT parent 1: protocol ip prio 2 flower ip_proto udp dst_port 4791 skip_hw classid 1:2
