// The same scenarios in ns-3: ns3 cbr|tcp SECONDS STARTS observe|plain TIMEOUT, ns3 bursts FOLDER observe|plain, or
// ns3 codel cbr|tcp SECONDS STARTS [ATTRIBUTE=VALUE]...
//
// Files are those of dumbbell.tcl and bursts.tcl. Packets are as long on the wire as there: what is left of 1000 or 1460 bytes after the headers
// (PPP 2, IP 20, UDP 8, TCP 20 with 12 for timestamps) is data. Routers have plain queues at their devices, none above them. Queues are watched
// only if asked for. What comes out is a key and its values a line; packets are of data.

#include <cmath>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

constexpr uint16_t port = 9;

/// What comes to a queue, and the integral of its packets over time.
struct Watch {
    uint64_t arrived = 0, dropped = 0, departed = 0;
    uint32_t packets = 0;
    Time last;
    double sum = 0;

    void change(uint32_t, uint32_t now) {
        settle();
        packets = now;
    }
    void settle() {
        sum += packets * (Simulator::Now() - last).GetSeconds();
        last = Simulator::Now();
    }
    void enqueue(Ptr<const Packet>) { arrived++; }
    void dequeue(Ptr<const Packet>) { departed++; }
    void drop(Ptr<const Packet>) {
        arrived++;
        dropped++;
    }
};

std::vector<std::unique_ptr<Watch>> watches;

void watch(Ptr<NetDevice> device) {
    auto queue = DynamicCast<PointToPointNetDevice>(device)->GetQueue();
    watches.push_back(std::make_unique<Watch>());
    Watch* watch = watches.back().get();
    queue->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Watch::change, watch));
    queue->TraceConnectWithoutContext("Enqueue", MakeCallback(&Watch::enqueue, watch));
    queue->TraceConnectWithoutContext("Dequeue", MakeCallback(&Watch::dequeue, watch));
    // A full queue stops the layer above, which then drops.
    auto above = device->GetNode()->GetObject<TrafficControlLayer>();
    above->TraceConnectWithoutContext("TcDrop", MakeCallback(&Watch::drop, watch));
}

/// Links with addresses of their own.
struct Network {
    Ipv4StaticRoutingHelper routing;
    std::map<std::pair<uint32_t, uint32_t>, std::pair<Ipv4Address, uint32_t>> next;

    Network() {
        stack.SetIpv6StackInstall(false);
        stack.SetRoutingHelper(routing);
    }

    Ptr<Node> node() {
        auto made = CreateObject<Node>();
        stack.Install(made);
        return made;
    }

    NetDeviceContainer link(Ptr<Node> one, Ptr<Node> other, const std::string& rate, const std::string& delay, const std::string& limit,
                            const std::string& address) {
        PointToPointHelper wires;
        wires.SetDeviceAttribute("DataRate", StringValue(rate));
        wires.SetChannelAttribute("Delay", StringValue(delay));
        wires.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(limit));
        auto devices = wires.Install(one, other);
        auto interfaces = Ipv4AddressHelper(address.c_str(), "255.255.255.0").Assign(devices);
        TrafficControlHelper().Uninstall(devices);
        next[{one->GetId(), other->GetId()}] = {interfaces.GetAddress(1), interfaces.Get(0).second};
        next[{other->GetId(), one->GetId()}] = {interfaces.GetAddress(0), interfaces.Get(1).second};
        return devices;
    }

    Ptr<Ipv4StaticRouting> routes(Ptr<Node> node) { return routing.GetStaticRouting(node->GetObject<Ipv4>()); }

    void by_default(Ptr<Node> from, Ptr<Node> over) {
        auto [address, interface] = next.at({from->GetId(), over->GetId()});
        routes(from)->SetDefaultRoute(address, interface);
    }

    void by_network(Ptr<Node> from, const std::string& network, const std::string& mask, Ptr<Node> over) {
        auto [address, interface] = next.at({from->GetId(), over->GetId()});
        routes(from)->AddNetworkRouteTo(network.c_str(), mask.c_str(), address, interface);
    }

private:
    InternetStackHelper stack;
};

std::string dotted(uint32_t first, uint32_t second, uint32_t third) {
    std::ostringstream text;
    text << first << '.' << second << '.' << third << ".0";
    return text.str();
}

Ptr<Socket> datagrams(Ptr<Node> node) { return Socket::CreateSocket(node, UdpSocketFactory::GetTypeId()); }

void count(uint64_t* packets, Ptr<Socket> socket) {
    while (socket->Recv()) {
        ++*packets;
    }
}

void listen(Ptr<Node> node, uint64_t* packets) {
    auto socket = datagrams(node);
    socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
    socket->SetRecvCallback(MakeBoundCallback(&count, packets));
}

/// Packet n leaves n x 160/3 ms after the first: nothing drifts.
void beat(Ptr<Socket> socket, Time start, uint64_t number) {
    socket->Send(Create<Packet>(970));
    ++number;
    auto next = start + NanoSeconds(number * 160'000'000 / 3);
    Simulator::Schedule(next - Simulator::Now(), &beat, socket, start, number);
}

void dumbbell(bool is_tcp, double seconds, const std::string& starts, bool is_watched, int least_timeout) {
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(least_timeout)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(946));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 20));

    Network network;
    auto left = network.node(), right = network.node();
    auto bottleneck = network.link(left, right, "5Mbps", "10ms", "100p", "10.3.0.0");
    network.by_default(left, right);
    network.by_default(right, left);
    std::vector<uint64_t> delivered(50);
    std::vector<Ptr<PacketSink>> sinks;
    std::ifstream file(starts);
    double start;
    for (uint32_t i = 0; i < 50 && file >> start; i++) {
        auto sender = network.node(), receiver = network.node();
        network.link(sender, left, "100Mbps", "10ms", "100000p", dotted(10, 1, i));
        network.link(right, receiver, "100Mbps", "10ms", "100000p", dotted(10, 2, i));
        network.by_default(sender, left);
        network.by_default(receiver, right);
        InetSocketAddress to(network.next.at({right->GetId(), receiver->GetId()}).first, port);
        auto at = NanoSeconds(std::llround(start * 1e9));
        if (is_tcp) {
            BulkSendHelper bulk("ns3::TcpSocketFactory", to);
            bulk.SetAttribute("SendSize", UintegerValue(946));
            bulk.Install(sender).Start(at);
            auto sink = PacketSinkHelper("ns3::TcpSocketFactory", to).Install(receiver);
            sinks.push_back(DynamicCast<PacketSink>(sink.Get(0)));
        } else {
            listen(receiver, &delivered[i]);
            auto socket = datagrams(sender);
            socket->Connect(to);
            Simulator::Schedule(at, &beat, socket, at, 0);
        }
    }
    if (is_watched) {
        watch(bottleneck.Get(0));
    }
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    for (std::size_t i = 0; i < sinks.size(); i++) {
        delivered[i] = sinks[i]->GetTotalRx() / 946;
    }
    std::cout << "flows";
    for (auto packets : delivered) {
        std::cout << ' ' << packets;
    }
    std::cout << '\n';
    if (is_watched) {
        Watch& watch = *watches[0];
        watch.settle();
        std::cout << "bottleneck_arrived " << watch.arrived << "\nbottleneck_dropped " << watch.dropped << "\nbottleneck_departed "
                  << watch.departed << "\nbottleneck_queue " << watch.sum / seconds << '\n';
    }
}

/// The largest part of memory that the process has had.
double peak_megabytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind("VmHWM:", 0) == 0) {
            return std::stod(line.substr(6)) / 1024;
        }
    }
    return 0;
}

constexpr uint32_t cores = 10, edges = 100;

void send_all(Ptr<Socket> socket, uint32_t packets) {
    for (uint32_t i = 0; i < packets; i++) {
        socket->Send(Create<Packet>(1430));
    }
}

void note_drop(std::vector<double>* times, Ptr<const QueueDiscItem>) { times->push_back(Simulator::Now().GetSeconds()); }

/// CoDel at a bottleneck of 10 Mbit/s with a round trip of 28 ms, one packet in the device below it. Flows are of TCP with 1500 bytes on the wire, or of
/// 4 Mbit/s with 1460. Settings are attributes of ns-3 and their values.
void codel(bool is_tcp, double seconds, const std::string& starts, const std::vector<std::string>& settings) {
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1446));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));
    for (auto& setting : settings) {
        auto equals = setting.find('=');
        Config::SetDefault(setting.substr(0, equals), StringValue(setting.substr(equals + 1)));
    }

    Network network;
    auto left = network.node(), right = network.node();
    auto bottleneck = network.link(left, right, "10Mbps", "12ms", "1p", "10.3.0.0");
    TrafficControlHelper control;
    control.SetRootQueueDisc("ns3::CoDelQueueDisc");
    std::vector<double> drops;
    control.Install(bottleneck.Get(0)).Get(0)->TraceConnectWithoutContext("Drop", MakeBoundCallback(&note_drop, &drops));
    network.by_default(left, right);
    network.by_default(right, left);
    uint64_t delivered = 0;
    std::vector<Ptr<PacketSink>> sinks;
    std::ifstream file(starts);
    double start;
    for (uint32_t i = 0; file >> start; i++) {
        auto sender = network.node(), receiver = network.node();
        network.link(sender, left, "100Mbps", "1ms", "100000p", dotted(10, 1, i));
        network.link(right, receiver, "100Mbps", "1ms", "100000p", dotted(10, 2, i));
        network.by_default(sender, left);
        network.by_default(receiver, right);
        InetSocketAddress to(network.next.at({right->GetId(), receiver->GetId()}).first, port);
        auto at = NanoSeconds(std::llround(start * 1e9));
        if (is_tcp) {
            BulkSendHelper bulk("ns3::TcpSocketFactory", to);
            bulk.SetAttribute("SendSize", UintegerValue(1446));
            bulk.Install(sender).Start(at);
            sinks.push_back(DynamicCast<PacketSink>(PacketSinkHelper("ns3::TcpSocketFactory", to).Install(receiver).Get(0)));
            continue;
        }
        listen(receiver, &delivered);
        auto socket = datagrams(sender);
        socket->Connect(to);
        for (auto time = at; time < Seconds(seconds); time += MicroSeconds(2920)) {
            Simulator::Schedule(time, &send_all, socket, 1);
        }
    }
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    for (auto& sink : sinks) {
        delivered += sink->GetTotalRx() / 1446;
    }
    std::cout << "delivered " << delivered << "\ndrops";
    for (auto time : drops) {
        std::cout << ' ' << time;
    }
    std::cout << '\n';
}

struct Flow {
    double start;
    uint32_t from, to, packets;
};

void bursts(const std::string& folder, bool is_watched) {
    Network network;
    std::vector<Ptr<Node>> nodes;
    for (uint32_t i = 0; i < cores + 2 * edges; i++) {
        nodes.push_back(network.node());
    }
    std::ifstream file(folder + "/network.txt");
    std::string word;
    uint32_t core_links = 0;
    while (file >> word) {
        uint32_t one, other;
        file >> one >> other;
        if (word == "route") {
            uint32_t next;
            file >> next;
            network.by_network(nodes[one], dotted(10, other, 0), "255.255.0.0", nodes[next]);
            continue;
        }
        std::string rate, delay;
        file >> rate >> delay;
        if (one > other) {
            continue;
        }
        // To host i behind core c: 10.c.i. From core c to its edge router i: 11.c.i.
        auto edge = other - cores;
        auto address = other < cores ? dotted(12, core_links++, 0) : one < cores ? dotted(11, one, edge) : dotted(10, (one - cores) % cores, one - cores);
        auto devices = network.link(nodes[one], nodes[other], rate + "bps", delay + "s", "100000000p", address);
        if (is_watched) {
            watch(devices.Get(0));
            watch(devices.Get(1));
        }
    }
    for (uint32_t i = 0; i < edges; i++) {
        auto core = nodes[i % cores], edge = nodes[cores + i], host = nodes[cores + edges + i];
        network.by_default(host, edge);
        network.by_default(edge, core);
        network.by_network(core, dotted(10, i % cores, i), "255.255.255.0", edge);
    }

    uint64_t delivered = 0;
    for (uint32_t i = 0; i < edges; i++) {
        listen(nodes[cores + edges + i], &delivered);
    }
    std::map<std::pair<uint32_t, uint32_t>, Ptr<Socket>> senders;
    std::ifstream flows(folder + "/flows.txt");
    for (Flow flow; flows >> flow.start >> flow.from >> flow.to >> flow.packets;) {
        auto& socket = senders[{flow.from, flow.to}];
        if (!socket) {
            socket = datagrams(nodes[flow.from]);
            socket->Connect(InetSocketAddress(network.next.at({flow.to - edges, flow.to}).first, port));
        }
        Simulator::Schedule(NanoSeconds(std::llround(flow.start * 1e9)), &send_all, socket, flow.packets);
    }
    Simulator::Stop(Seconds(1000));
    Simulator::Run();
    std::cout << "delivered " << delivered << '\n';
    if (is_watched) {
        uint64_t hops = 0, dropped = 0;
        double waits = 0;
        for (auto& watch : watches) {
            hops += watch->departed;
            dropped += watch->dropped;
            waits += watch->sum;
        }
        std::cout.precision(12);
        std::cout << "packet_hops " << hops << "\ndropped " << dropped << "\nmean_wait_ms " << waits / delivered * 1e3 << '\n';
    }
}

} // namespace

int main(int count, char** arguments) {
    std::vector<std::string> words(arguments + 1, arguments + count);
    if (words.size() == 5 && (words[0] == "cbr" || words[0] == "tcp")) {
        dumbbell(words[0] == "tcp", std::stod(words[1]), words[2], words[3] == "observe", std::stoi(words[4]));
    } else if (words.size() == 3 && words[0] == "bursts") {
        bursts(words[1], words[2] == "observe");
    } else if (words.size() >= 4 && words[0] == "codel") {
        codel(words[1] == "tcp", std::stod(words[2]), words[3], {words.begin() + 4, words.end()});
    } else {
        std::cerr << "ns3 cbr|tcp SECONDS STARTS observe|plain TIMEOUT, ns3 bursts FOLDER observe|plain, ns3 codel cbr|tcp SECONDS STARTS [ATTRIBUTE=VALUE]..\n";
        return 2;
    }
    std::cout << "peak_memory_mb " << peak_megabytes() << '\n';
    Simulator::Destroy();
    return 0;
}
