# By hand: an htb inside a class of an htb. Packets of EF go past all classes by a filter, and those of CS1 past
# the classes of the htb inside, because that has no default.
IF=eth0
tc qdisc add dev $IF root handle 1: htb default 30
tc class add dev $IF parent 1: classid 1:1 htb rate 6mbit
tc class add dev $IF parent 1:1 classid 1:10 htb rate 3mbit ceil 6mbit
tc class add dev $IF parent 1:1 classid 1:30 htb rate 3mbit ceil 6mbit prio 1
tc qdisc add dev $IF parent 1:10 handle 10: htb
tc class add dev $IF parent 10: classid 10:1 htb rate 1mbit ceil 2mbit
tc class add dev $IF parent 10: classid 10:2 htb rate 1mbit ceil 4mbit prio 1
tc filter add dev $IF parent 1: protocol ip prio 1 u32 match ip tos 0xb8 0xfc flowid 1:0
tc filter add dev $IF parent 1: protocol ip prio 2 u32 match ip tos 0x10 0xfc flowid 1:10
tc filter add dev $IF parent 1: protocol ip prio 2 u32 match ip tos 0x20 0xfc flowid 1:10
tc filter add dev $IF parent 10: protocol ip prio 1 u32 match ip src 10.254.0.0/30 match ip tos 0x10 0xfc flowid 10:1
tc filter add dev $IF parent 10: protocol ip prio 2 u32 match ip tos 0x10 0xfc flowid 10:2
