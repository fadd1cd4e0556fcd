# ns-2's SFQ on one link: ns sfq.tcl ARRIVALS BUCKETS LIMIT TRACE
#
# ARRIVALS has SECONDS FLOW a line; packets are of 1000 bytes, the link has 8 Mbit/s. Each flow has a destination of its own, as SFQ's hash reads
# addresses: with up to 16 flows each has a bucket alone. TRACE gets the link's events as ns-2 writes them; a packet's number is its line.

lassign $argv arrivals buckets limit trace
remove-all-packet-headers
add-packet-header IP RTP Flags

Agent/UDP set packetSize_ 1000
Queue/SFQ set maxqueue_ $limit
Queue/SFQ set buckets_ $buckets
set ns [new Simulator]

set file [open $arrivals]
set lines [split [string trim [read $file]] \n]
close $file
foreach line $lines { lappend flows [lindex $line 1] }
set flows [lsort -integer -unique $flows]

set source [$ns node]
set router [$ns node]
$ns duplex-link $source $router 8Mb 1ms SFQ
$ns trace-queue $source $router [open $trace w]
foreach flow $flows {
    set to [$ns node]
    $ns duplex-link $router $to 1Gb 1ms DropTail
    set sender($flow) [new Agent/UDP]
    $sender($flow) set fid_ $flow
    set sink [new Agent/Null]
    $ns attach-agent $source $sender($flow)
    $ns attach-agent $to $sink
    $ns connect $sender($flow) $sink
}
foreach line $lines {
    lassign $line seconds flow
    $ns at $seconds "$sender($flow) send 1000"
}
$ns at 1000 "exit 0"
$ns run
