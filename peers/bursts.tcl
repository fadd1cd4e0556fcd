# UPS's Internet2 with flows that send all they have at once, in ns-2: ns bursts.tcl FOLDER observe|plain
#
# FOLDER has network.txt and flows.txt as the example `bursts` writes them: link FROM TO BITS_PER_SECOND SECONDS, then SECONDS FROM TO PACKETS a
# flow. Runs until all has arrived. Queues are watched only if asked for. What comes out is a key and its values a line.

lassign $argv folder observe
remove-all-packet-headers
add-packet-header IP RTP Flags

Agent/UDP set packetSize_ 1460
Queue set limit_ 100000000
set ns [new Simulator]

proc lines {name} {
    global folder
    set file [open $folder/$name]
    set lines [split [string trim [read $file]] \n]
    close $file
    return $lines
}

proc node {number} {
    global ns nodes
    if {![info exists nodes($number)]} { set nodes($number) [$ns node] }
    return $nodes($number)
}

# Nodes are made in the order of their numbers, so that routes are the same.
for {set number 0} {$number < 210} {incr number} { node $number }
foreach line [lines network.txt] {
    lassign $line word from to rate delay
    if {$word ne "link"} continue
    $ns simplex-link [node $from] [node $to] $rate $delay DropTail
    if {$observe eq "observe"} {
        set monitor [$ns monitor-queue [node $from] [node $to] [open /dev/null w] 1e9]
        lappend monitors $monitor
    }
}

# The two ends of a pair, made when they first talk.
proc sender {from to} {
    global ns senders sinks
    if {![info exists senders($from,$to)]} {
        set sender [new Agent/UDP]
        set sink [new Agent/LossMonitor]
        $ns attach-agent [node $from] $sender
        $ns attach-agent [node $to] $sink
        $ns connect $sender $sink
        set senders($from,$to) $sender
        lappend sinks $sink
    }
    return $senders($from,$to)
}

set flows [lines flows.txt]
set next 0
proc begin {} {
    global ns flows next
    lassign [lindex $flows $next] start from to packets
    [sender $from $to] send [expr {$packets * 1460}]
    incr next
    schedule
}
proc schedule {} {
    global ns flows next
    if {$next < [llength $flows]} { $ns at [lindex [lindex $flows $next] 0] begin }
}

proc report {} {
    global ns sinks observe monitors
    foreach sink $sinks { incr delivered [$sink set npkts_] }
    puts "delivered $delivered"
    if {$observe eq "observe"} {
        set waits 0.0
        foreach monitor $monitors {
            set queue [$monitor get-pkts-integrator]
            $queue newpoint [$ns now] [$monitor set pkts_]
            set waits [expr {$waits + [$queue set sum_]}]
            incr hops [$monitor set pdepartures_]
            incr dropped [$monitor set pdrops_]
        }
        puts "packet_hops $hops"
        puts "dropped $dropped"
        puts "mean_wait_ms [expr {$waits / $delivered * 1e3}]"
    }
    set status [open /proc/self/status]
    regexp {VmHWM:\s+(\d+)} [read $status] all kilobytes
    puts "peak_memory_mb [expr {$kilobytes / 1024.0}]"
    exit 0
}

schedule
# Everything has arrived long before.
$ns at 1000 report
$ns run
