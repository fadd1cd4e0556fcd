#!/bin/sh
# Init process of the guest: three hosts and two wires, then a run for each line of /runs,
#
#   NAME SECONDS SEED RATE UP_RATE UP_LIMIT CONTROL BULKS KINDS QDISC..
#
# The results go to the host over a virtual port, as an archive.
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
while read -r module; do insmod "/modules/$module" || echo "no module $module"; done < /modules/order

at() {
	host=$1
	shift
	ip netns exec "$host" "$@"
}

for host in server router client; do
	ip netns add "$host"
	ip -n "$host" link set lo up
done
for device in server:server at_server:router at_client:router client:client; do
	ip link set "${device%:*}" netns "${device#*:}"
done
for server in 1 2 3; do ip -n server addr add 10.0.2.$server/24 dev server; done
ip -n router addr add 10.0.2.254/24 dev at_server
ip -n router addr add 10.0.1.254/24 dev at_client
for client in 1 2 3; do ip -n client addr add 10.0.1.$client/24 dev client; done
for device in server:server at_server:router at_client:router client:client; do
	at "${device#*:}" tc qdisc add dev "${device%:*}" root pfifo limit 10000
	ip -n "${device#*:}" link set "${device%:*}" up
done
ip -n server route add default dev server
ip -n client route add default dev client
at router sysctl -qw net.ipv4.ip_forward=1

mkdir /out
while read -r name seconds seed rate up_rate up_limit control bulks kinds qdisc; do
	out=/out/$name
	case $kinds in
	# Servers at 5, 80 and 150 ms, and clients at 0, 20 and 60 ms more.
	*f*) servers="0 1500000 39000000 74000000" clients="0 1000000 11000000 31000000" ;;
	# Round trips of 20, 40 and 60 ms, of which 2 ms are behind the router.
	*) servers="0 9000000 19000000 29000000" clients="0 1000000 1000000 1000000" ;;
	esac
	echo "server 1000000000 $servers" > /proc/wire
	echo "at_server 1000000000 $servers" > /proc/wire
	echo "client $up_rate $clients" > /proc/wire
	echo "at_client $rate $clients" > /proc/wire
	at client tc qdisc replace dev client root pfifo limit $up_limit
	at router tc qdisc replace dev at_client root $qdisc
	ip -n server tcp_metrics flush all
	ip -n client tcp_metrics flush all
	at server nstat -r > /dev/null
	echo clear > /proc/wire
	# Only the first run of some set-ups is captured, because that takes as long as the run.
	capture=
	case $name in
	*captured-1)
		ip netns exec router traffic capture at_server "$out.pcap" &
		capture=$!
		;;
	esac
	ip netns exec server traffic server "$control" "$kinds" > "$out.states" &
	server=$!
	sleep 1
	at client traffic client "$seconds" "$seed" "$bulks" "$control" "$kinds" > "$out.transfers"
	kill "$server"
	[ -z "$capture" ] || kill "$capture"
	[ -z "$capture" ] || wait "$capture"
	[ -s "$out.states" ] || rm "$out.states"
	cat /proc/wire > "$out.packets"
	at server nstat -z > "$out.counters"
	at router tc -s qdisc show dev at_client > "$out.qdisc"
	at client tc -s qdisc show dev client > "$out.up"
	at router tc qdisc del dev at_client root
	sleep 3
done < /runs
dmesg | grep -i -e "bug:" -e "call trace" -e "out of memory" > /out/messages
tar c -C /out . > /dev/vport0p1
poweroff -f
