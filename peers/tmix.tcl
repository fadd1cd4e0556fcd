# ns-2's Tmix on connection vectors: ns tmix.tcl VECTORS SECONDS
#
# Tells on standard error what Tmix does: each connection that starts, and each write of either end.

lassign $argv vectors seconds
set ns [new Simulator]
set client [$ns node]
set server [$ns node]
$ns duplex-link $client $server 10Gb 1ms DropTail
$ns queue-limit $client $server 1000000
$ns queue-limit $server $client 1000000

set tmix [new Tmix]
$tmix set-init $client
$tmix set-acc $server
$tmix set-ID 1
$tmix set-cvfile $vectors
$tmix set-agent-type FullTcp
$tmix set-TCP Reno
# Tells of starts and writes.
$tmix set-debug 5
$ns at 0 "$tmix start"
$ns at $seconds "exit 0"
$ns run
