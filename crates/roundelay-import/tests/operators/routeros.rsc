# 2026-11-01 by RouterOS 7.16
/ip firewall mangle
add action=mark-connection chain=forward comment="calls" dst-port=5060-5061 \
    new-connection-mark=calls_c passthrough=yes protocol=udp
add action=mark-packet chain=forward connection-mark=calls_c new-packet-mark=\
    calls passthrough=no
add action=mark-packet chain=forward new-packet-mark=dns passthrough=no protocol=udp dst-port=53
add action=mark-packet chain=forward new-packet-mark=heavy connection-bytes=1000000-0
/queue type
add cake-diffserv=besteffort cake-flowmode=dual-srchost cake-nat=yes \
    cake-overhead=18 cake-mpu=64 kind=cake name=cake-up
add cake-diffserv=besteffort cake-flowmode=dual-dsthost kind=cake name=cake-down
add fq-codel-limit=1000 fq-codel-target=10ms fq-codel-ecn=no kind=fq-codel name=fqc
add kind=pcq name=per-host pcq-classifier=dst-address pcq-rate=5M
add kind=fq-codel name=odd fq-codel-speed=9
/queue simple
add max-limit=20M/100M name=guests queue=cake-up/cake-down target=192.168.20.0/24
add limit-at=5M/10M max-limit=10M/50M name=phone parent=home priority=1/1 \
    queue=fqc/fqc target=192.168.10.9/32
add max-limit=18M/90M name=home queue=default-small/default-small target=192.168.10.0/24
add limit-at=2M/2M max-limit=18M/90M name="rest of home" parent=home \
    queue=per-host/per-host target=192.168.10.0/24 burst-limit=20M/95M
add disabled=yes max-limit=1k/1k name=off target=0.0.0.0/0
/queue tree
add max-limit=50M name=wan parent=ether1
add limit-at=1M max-limit=50M name=voip packet-mark=calls,dns parent=wan priority=1 queue=fqc
add max-limit=50M name=others packet-mark=no-mark parent=wan queue=fqc speed=3
