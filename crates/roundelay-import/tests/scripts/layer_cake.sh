# In the style of SQM's layer_cake.qos, with a table of sizes in place of cake's own overhead.
tc qdisc add dev wan root stab overhead 44 mpu 0 linklayer adsl cake bandwidth 2300Kbit diffserv4 triple-isolate split-gso
