// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Two wires between three hosts, as network devices: server - at_server, at_client - client.
 *
 * `at_client` sends one packet at a time at its rate and asks its qdisc for the next one when the
 * last bit is sent, so what stands in front of it is the bottleneck's queue. So does `client` below
 * SLOW bits per second, for uploads. The other devices take all packets and send them at their rates.
 * A packet comes out at the other end after the delay of its server between server and router, and
 * of its client between router and client: by the last byte of the server's or client's address.
 *
 * Each packet that comes out at `at_server` on its way to the client, and each one that leaves at
 * `at_client`, is noted: a read of /proc/wire gives these records, a write is a line of text,
 *
 *   DEVICE RATE DELAY..   bits per second, then nanoseconds for the servers or clients 0 to 7
 *   clear                 forgets the records
 *
 * The devices have no header of their own, so lengths are those of IP packets. Made for a machine
 * with one processor.
 */
#include <linux/hrtimer.h>
#include <linux/if_arp.h>
#include <linux/ip.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/proc_fs.h>
#include <linux/skbuff.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <net/ip.h>

#define SERVERS 8
/* Below this rate, bits per second, the client's wire has a queue in front of it. */
#define SLOW 1000000000
#define MOST_RECORDS (1 << 20)
/* The qdisc is asked this much later than the end of a packet, at most. */
#define LATE_NS 40000

enum { SERVER, AT_SERVER, AT_CLIENT, CLIENT, DEVICES };
static const char *const names[DEVICES] = { "server", "at_server", "at_client", "client" };
static const int others[DEVICES] = { AT_SERVER, SERVER, CLIENT, AT_CLIENT };

/* Packets on their way: all of one server, so they come out in order. */
struct way {
	struct sk_buff_head packets;
	struct hrtimer timer;
	u64 delay;
};

struct wire {
	int place;
	u64 rate, free_at;
	struct hrtimer timer;
	struct way ways[SERVERS];
};

struct record {
	u64 at;			/* ns: when it came out, or when its last bit was sent */
	u32 waited;		/* us since it came to the router; 0 when it comes */
	u16 len;
	u16 id;			/* of the IP header */
	u8 protocol, server, is_sent, ecn;
	u16 source_port, port;
};

static struct net_device *devices[DEVICES];
static struct record *records;
static unsigned int recorded;

/* The last byte of the server's address, whose third byte is 2. */
static unsigned int server_of(const struct iphdr *ip)
{
	u32 source = ntohl(ip->saddr), destination = ntohl(ip->daddr);

	return ((source >> 8 & 255) == 2 ? source : destination) & (SERVERS - 1);
}

/* The way of a packet: of its server, or of its client, the last byte of whose address tells it. */
static unsigned int way_of(const struct wire *wire, const struct iphdr *ip)
{
	u32 source = ntohl(ip->saddr), destination = ntohl(ip->daddr);

	if (wire->place == SERVER || wire->place == AT_SERVER)
		return server_of(ip);
	return ((source >> 8 & 255) == 1 ? source : destination) & (SERVERS - 1);
}

/* Whether packets wait in the qdisc in front of this wire. */
static bool has_queue(const struct wire *wire)
{
	return wire->place == AT_CLIENT || (wire->place == CLIENT && wire->rate < SLOW);
}

static void note(const struct sk_buff *skb, u64 at, u32 waited, bool is_sent)
{
	const struct iphdr *ip = ip_hdr(skb);
	__be16 none[2] = { 0, 0 }, *ports = none, copied[2];
	struct record *record;

	if (recorded == MOST_RECORDS)
		return;
	if (ip->protocol != IPPROTO_ICMP)
		ports = skb_header_pointer(skb, skb_network_offset(skb) + ip->ihl * 4, sizeof(copied), copied);
	if (!ports)
		ports = none;
	record = &records[recorded++];
	*record = (struct record) {
		.at = at, .waited = waited, .len = skb->len, .id = ntohs(ip->id), .protocol = ip->protocol,
		.server = server_of(ip), .is_sent = is_sent, .ecn = ip->tos & 3,
		.source_port = ntohs(ports[0]), .port = ntohs(ports[1]),
	};
}

static u64 *due_of(struct sk_buff *skb)
{
	return (u64 *)skb->cb;
}

static void come_out(struct sk_buff *skb, struct net_device *at)
{
	struct wire *wire = netdev_priv(at);
	u64 now = ktime_get_ns();

	memset(skb->cb, 0, sizeof(skb->cb));
	skb->dev = at;
	if (wire->place == AT_SERVER) {
		/* Forwarding keeps the mark. */
		skb->mark = (u32)div_u64(now, 1000);
		note(skb, now, 0, false);
	}
	netif_rx(skb);
}

static enum hrtimer_restart packets_come_out(struct hrtimer *timer)
{
	struct way *way = container_of(timer, struct way, timer);
	struct sk_buff *skb;

	while ((skb = skb_peek(&way->packets))) {
		if (*due_of(skb) > ktime_get_ns()) {
			hrtimer_set_expires(timer, ns_to_ktime(*due_of(skb)));
			return HRTIMER_RESTART;
		}
		skb = skb_dequeue(&way->packets);
		come_out(skb, skb->dev);
	}
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart wire_is_free(struct hrtimer *timer)
{
	struct wire *wire = container_of(timer, struct wire, timer);

	netif_wake_queue(devices[wire->place]);
	return HRTIMER_NORESTART;
}

static netdev_tx_t wire_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct wire *wire = netdev_priv(dev);
	struct way *way = &wire->ways[way_of(wire, ip_hdr(skb))];
	u64 now = ktime_get_ns();
	/* The wire goes on without a gap: what follows a packet starts at its end, and not when the timer came. */
	u64 start = now >= wire->free_at && now - wire->free_at >= LATE_NS ? now : wire->free_at;
	unsigned long flags;
	bool was_empty;

	wire->free_at = start + div64_u64((u64)skb->len * 8 * NSEC_PER_SEC, wire->rate);
	if (wire->place == AT_CLIENT)
		note(skb, wire->free_at, (u32)div_u64(wire->free_at, 1000) - skb->mark, true);
	skb_orphan(skb);
	skb_scrub_packet(skb, true);
	skb_set_delivery_time(skb, 0, false);
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	skb->pkt_type = PACKET_HOST;
	skb->protocol = htons(ETH_P_IP);
	skb->dev = devices[others[wire->place]];
	*due_of(skb) = wire->free_at + way->delay;
	spin_lock_irqsave(&way->packets.lock, flags);
	was_empty = skb_queue_empty(&way->packets);
	__skb_queue_tail(&way->packets, skb);
	spin_unlock_irqrestore(&way->packets.lock, flags);
	if (was_empty)
		hrtimer_start(&way->timer, ns_to_ktime(*due_of(skb)), HRTIMER_MODE_ABS);
	if (has_queue(wire)) {
		netif_stop_queue(dev);
		hrtimer_start(&wire->timer, ns_to_ktime(wire->free_at), HRTIMER_MODE_ABS);
	}
	return NETDEV_TX_OK;
}

static const struct net_device_ops wire_ops = { .ndo_start_xmit = wire_xmit };

static void wire_setup(struct net_device *dev)
{
	dev->netdev_ops = &wire_ops;
	dev->type = ARPHRD_NONE;
	dev->flags = IFF_NOARP | IFF_POINTOPOINT;
	dev->mtu = 1500;
	dev->max_mtu = 65535;
	dev->tx_queue_len = 1000;
	dev->needs_free_netdev = true;
	/* Senders hand over long pieces, as with any card, and the stack cuts them into packets. */
	dev->hw_features = NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
	dev->features = dev->hw_features;
}

static int configure(const char *line)
{
	char name[16];
	u64 rate, delays[SERVERS] = { 0 };
	int i;

	if (!strncmp(line, "clear", 5)) {
		recorded = 0;
		return 0;
	}
	if (sscanf(line, "%15s %llu %llu %llu %llu %llu %llu %llu %llu %llu", name, &rate, &delays[0], &delays[1], &delays[2],
		   &delays[3], &delays[4], &delays[5], &delays[6], &delays[7]) < 2 || !rate)
		return -EINVAL;
	for (i = 0; i < DEVICES; i++) {
		if (!strcmp(name, names[i])) {
			struct wire *wire = netdev_priv(devices[i]);
			int server;

			wire->rate = rate;
			for (server = 0; server < SERVERS; server++)
				wire->ways[server].delay = delays[server];
			return 0;
		}
	}
	return -ENODEV;
}

static ssize_t write_line(struct file *file, const char __user *from, size_t len, loff_t *offset)
{
	char line[256];
	int error;

	if (len >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, len))
		return -EFAULT;
	line[len] = 0;
	error = configure(line);
	return error ? error : len;
}

static ssize_t read_records(struct file *file, char __user *to, size_t len, loff_t *offset)
{
	return simple_read_from_buffer(to, len, offset, records, recorded * sizeof(*records));
}

static const struct proc_ops operations = {
	.proc_write = write_line,
	.proc_read = read_records,
};

static int add_device(int place)
{
	struct net_device *dev = alloc_netdev(sizeof(struct wire), names[place], NET_NAME_UNKNOWN, wire_setup);
	struct wire *wire;
	int i;

	if (!dev)
		return -ENOMEM;
	wire = netdev_priv(dev);
	wire->place = place;
	wire->rate = 1000000000;
	hrtimer_init(&wire->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	wire->timer.function = wire_is_free;
	for (i = 0; i < SERVERS; i++) {
		skb_queue_head_init(&wire->ways[i].packets);
		hrtimer_init(&wire->ways[i].timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
		wire->ways[i].timer.function = packets_come_out;
	}
	devices[place] = dev;
	return register_netdev(dev);
}

static int __init wire_init(void)
{
	int place, error = 0;

	records = vmalloc(MOST_RECORDS * sizeof(*records));
	if (!records)
		return -ENOMEM;
	for (place = 0; place < DEVICES && !error; place++)
		error = add_device(place);
	if (!error && !proc_create("wire", 0600, NULL, &operations))
		error = -ENOMEM;
	return error;
}

module_init(wire_init);
MODULE_DESCRIPTION("Wires of exact rates and delays between a server, a router and a client");
MODULE_LICENSE("Dual MIT/GPL");
