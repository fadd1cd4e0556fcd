# Bulk flows of NewReno in ns-2: ns questions.tcl dumbbell|parking_lot SECONDS STARTS LIMIT ACCESS DELAY LATE DROPS
#
# STARTS is a file with the start of each flow in seconds, a line a flow. LIMIT packets wait at 10 Mbit/s, ACCESS is the rate of hosts' links, DELAY that of
# routers' links. Each packet of a sender leaves up to LATE seconds late, drawn evenly (overhead_). In parking_lot the first flow crosses three bottlenecks and
# each other flow one of them. DROPS gets the times of drops at the first bottleneck. What comes out: packets acknowledged from 10 s on, a line a flow.

lassign $argv shape seconds starts limit access delay late drops
remove-all-packet-headers
add-packet-header IP TCP RTP Flags

Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ 2
Agent/TCP set packetSize_ 1450
Agent/TCP set timestamps_ true
Agent/TCP set tcpTick_ 0.001
Agent/TCP set minrto_ 0.2
Agent/TCP set singledup_ 1
Agent/TCP set overhead_ $late

set ns [new Simulator]
set hops [expr {$shape eq "dumbbell" ? 1 : 3}]
for {set i 0} {$i <= $hops} {incr i} { set router($i) [$ns node] }
for {set i 0} {$i < $hops} {incr i} {
    set next $router([expr {$i + 1}])
    $ns duplex-link $router($i) $next 10Mb $delay DropTail
    # This queue is full with one packet less than its limit; the packet on the link is not in it.
    $ns queue-limit $router($i) $next [expr {$limit + 1}]
    $ns queue-limit $next $router($i) 100000
}

proc host {router} {
    global ns access
    set node [$ns node]
    $ns duplex-link $node $router $access 1ms DropTail
    $ns queue-limit $node $router 100000
    $ns queue-limit $router $node 100000
    return $node
}

proc flow {from to start} {
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

proc mark {} {
    global senders before
    foreach sender $senders { lappend before [$sender set ack_] }
}

proc report {} {
    global senders before trace
    foreach sender $senders acknowledged $before { puts [expr {[$sender set ack_] - $acknowledged}] }
    close $trace
    exit 0
}

set file [open $starts]
set number 0
foreach start [split [string trim [read $file]] \n] {
    set over_all [expr {$shape eq "dumbbell" || $number == 0}]
    set first [expr {$over_all ? 0 : $number - 1}]
    set last [expr {$over_all ? $hops : $number}]
    flow [host $router($first)] [host $router($last)] $start
    incr number
}
close $file
set trace [open $drops w]
$ns trace-queue $router(0) $router(1) $trace
$ns at 10 mark
$ns at $seconds report
$ns run
