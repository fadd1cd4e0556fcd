# The dumbbell of the MQFQ paper in ns-2: ns dumbbell.tcl cbr|tcp SECONDS STARTS observe|plain TIMEOUT
#
# STARTS is a file with the start of each flow in seconds, a line a flow; TIMEOUT is TCP's least, in milliseconds. The bottleneck is watched
# only if asked for: that costs time. What comes out is a key and its values a line; packets are of data.

lassign $argv kind seconds starts observe timeout
# Headers that no protocol here uses would be cleared for each packet.
remove-all-packet-headers
add-packet-header IP TCP RTP Flags

Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ 2
Agent/TCP set packetSize_ 950
Agent/TCP set timestamps_ true
Agent/TCP set tcpTick_ 0.001
Agent/TCP set minrto_ [expr {$timeout / 1e3}]
Agent/TCP set singledup_ 1

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right 5Mb 10ms DropTail
# This queue is full with one packet less than its limit; the packet on the link is not in it.
$ns queue-limit $left $right 101
$ns queue-limit $right $left 100000

proc host {router} {
    global ns
    set node [$ns node]
    $ns duplex-link $node $router 100Mb 10ms DropTail
    $ns queue-limit $node $router 100000
    $ns queue-limit $router $node 100000
    return $node
}

proc add_cbr {from to start} {
    global ns sinks
    set sender [new Agent/UDP]
    $sender set packetSize_ 1000
    set sink [new Agent/LossMonitor]
    $ns attach-agent $from $sender
    $ns attach-agent $to $sink
    $ns connect $sender $sink
    set source [new Application/Traffic/CBR]
    $source set packetSize_ 1000
    $source set rate_ 150k
    $source attach-agent $sender
    $ns at $start "$source start"
    lappend sinks $sink
}

proc add_tcp {from to start} {
    global ns senders
    set sender [new Agent/TCP/Newreno]
    set sink [new Agent/TCPSink/Sack1]
    $ns attach-agent $from $sender
    $ns attach-agent $to $sink
    $ns connect $sender $sink
    set source [new Application/FTP]
    $source attach-agent $sender
    $ns at $start "$source start"
    lappend senders $sender
}

proc report {} {
    global ns kind sinks senders seconds observe monitor queue
    if {$kind eq "cbr"} {
        foreach sink $sinks { lappend delivered [$sink set npkts_] }
    } else {
        # What is acknowledged, and what was sent again.
        foreach sender $senders {
            lappend delivered [expr {[$sender set ack_] + 1}]
            lappend repeated [$sender set nrexmitpack_]
            lappend sent [$sender set ndatapack_]
        }
        puts "retransmissions [expr [join $repeated +]]"
    }
    puts "flows $delivered"
    if {$observe eq "observe"} {
        $queue newpoint [$ns now] [$monitor set pkts_]
        puts "bottleneck_arrived [$monitor set parrivals_]"
        puts "bottleneck_dropped [$monitor set pdrops_]"
        puts "bottleneck_departed [$monitor set pdepartures_]"
        puts "bottleneck_queue [expr {[$queue set sum_] / $seconds}]"
    }
    set status [open /proc/self/status]
    regexp {VmHWM:\s+(\d+)} [read $status] all kilobytes
    puts "peak_memory_mb [expr {$kilobytes / 1024.0}]"
    exit 0
}

set file [open $starts]
foreach start [split [string trim [read $file]] \n] {
    add_$kind [host $left] [host $right] $start
}
close $file
if {$observe eq "observe"} {
    set monitor [$ns monitor-queue $left $right [open /dev/null w] 1]
    set queue [$monitor get-pkts-integrator]
}
$ns at $seconds report
$ns run
