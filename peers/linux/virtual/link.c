// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * A link of an exact rate: the device link0, whose packets arrive at given times.
 *
 * A write to /proc/link is one case (link.h): it returns when all packets have left, or when the
 * case's time is over. A read gives the departures. In a machine with a virtual clock the qdisc
 * decides some microseconds after the ideal time, whatever else the host does.
 *
 * The updates of PIE's probabilities by the kernel's timer are noted, because what is dropped depends on
 * how the case's begin lies between two of them. /proc/link-notes tells their times.
 *
 * The device has no header of its own, so that lengths are those of IP packets. It takes one packet
 * at a time and asks the qdisc for the next one when the last bit is sent.
 */
#include <linux/hrtimer.h>
#include <linux/if_arp.h>
#include <linux/ip.h>
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/skbuff.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <net/sch_generic.h>

#include "link.h"

#define MOST_DEPARTURES (1 << 17)
#define MOST_BYTES (64 << 20)
/* The qdisc is asked this much later than the end of a packet, at most. */
#define LATE_NS 40000

static struct net_device *link;
static struct hrtimer timer;
static struct departure *departures;
static unsigned int sent;
/* The rate of the case, and the times, in ns of the clock, at which it begins and the link is free. */
static u64 rate, base, free_at;
/* The packet that arrives now, if one does: when it should. */
static u64 arrives_at;

/* The wire goes on without a gap: what follows a packet starts at its end, and not when the timer came. */
static u64 start_of_next(u64 now)
{
	if (arrives_at)
		return max(free_at, arrives_at);
	if (now >= free_at && now - free_at < LATE_NS)
		return free_at;
	return now;
}

static netdev_tx_t link_xmit(struct sk_buff *skb, struct net_device *dev)
{
	const struct iphdr *ip = ip_hdr(skb);
	u64 start = start_of_next(ktime_get_ns());

	netif_stop_queue(dev);
	free_at = start + div64_u64((u64)skb->len * 8 * NSEC_PER_SEC, rate);
	if (sent < MOST_DEPARTURES) {
		departures[sent].start = start - base;
		departures[sent].number = ntohs(ip->id);
		departures[sent].type_of_service = ip->tos;
		sent++;
	}
	consume_skb(skb);
	hrtimer_start(&timer, ns_to_ktime(free_at), HRTIMER_MODE_ABS);
	return NETDEV_TX_OK;
}

static enum hrtimer_restart link_is_free(struct hrtimer *unused)
{
	netif_wake_queue(link);
	return HRTIMER_NORESTART;
}

static const struct net_device_ops link_ops = { .ndo_start_xmit = link_xmit };

static struct notes notes;

/* fq_pie updates one queue after another: those of one round count once. */
static int update_begins(struct kprobe *probe, struct pt_regs *registers)
{
	u64 now = ktime_get_ns() - base;

	if (notes.count && now - notes.updates[notes.count - 1] < NSEC_PER_MSEC)
		return 0;
	if (notes.count < MOST_UPDATES)
		notes.updates[notes.count++] = now;
	return 0;
}

static struct kprobe probe = {
	.symbol_name = "pie_calculate_probability",
	.pre_handler = update_begins,
};

static void link_setup(struct net_device *dev)
{
	dev->netdev_ops = &link_ops;
	dev->type = ARPHRD_NONE;
	dev->flags = IFF_NOARP | IFF_POINTOPOINT;
	dev->priv_flags |= IFF_NO_QUEUE;
	dev->mtu = 4000;
	dev->max_mtu = 65535;
	dev->tx_queue_len = 1000;
	dev->needs_free_netdev = true;
}

static void sleep_until(u64 ns)
{
	ktime_t until = ns_to_ktime(ns);

	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_hrtimeout_range(&until, 0, HRTIMER_MODE_ABS);
}

/* Timers wake a process late, so it comes early and waits for the rest awake. */
static void wait_until(u64 ns)
{
	if (ns > ktime_get_ns() + 150000)
		sleep_until(ns - 100000);
	while (ktime_get_ns() < ns)
		cpu_relax();
}

static int arrive(const struct arrival *arrival)
{
	struct sk_buff *skb;

	if (arrival->rate) {
		wait_until(base + arrival->at);
		rate = arrival->rate;
		return 0;
	}
	skb = alloc_skb(arrival->len + 64, GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	skb_reserve(skb, 32);
	memset(skb_put(skb, arrival->len), 0, arrival->len);
	memcpy(skb->data, arrival->headers, min3(arrival->headers_len, (u32)MOST_HEADERS, arrival->len));
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, sizeof(struct iphdr));
	skb->dev = link;
	skb->protocol = htons(ETH_P_IP);
	skb->priority = arrival->priority;
	if (arrival->hash)
		skb_set_hash(skb, arrival->hash, PKT_HASH_TYPE_L4);
	wait_until(base + arrival->at);
	arrives_at = base + arrival->at;
	dev_queue_xmit(skb);
	arrives_at = 0;
	return 0;
}

static unsigned int packets_in_queue(void)
{
	unsigned int packets;

	rcu_read_lock();
	packets = rcu_dereference(netdev_get_tx_queue(link, 0)->qdisc)->q.qlen;
	rcu_read_unlock();
	return packets;
}

static void begin(u64 bits)
{
	/* The case before may have ended with a packet on the link. */
	if (ktime_get_ns() < free_at)
		sleep_until(free_at + NSEC_PER_MSEC);
	rate = bits;
	sent = 0;
	/* A multiple of 2^16 ns: qdiscs' clocks of 64 and 1024 ns begin with it. */
	base = ((ktime_get_ns() >> 16) + 32) << 16;
	free_at = base;
	notes.base = base;
	notes.count = 0;
}

static ssize_t run_case(struct file *file, const char __user *from, size_t len, loff_t *offset)
{
	struct run *run;
	const struct arrival *arrivals;
	size_t count, i;
	u64 end;
	int error = 0;

	if (len < sizeof(*run) || (len - sizeof(*run)) % sizeof(*arrivals) || len > MOST_BYTES)
		return -EINVAL;
	run = vmalloc(len);
	if (!run)
		return -ENOMEM;
	if (copy_from_user(run, from, len)) {
		vfree(run);
		return -EFAULT;
	}
	arrivals = (const struct arrival *)(run + 1);
	count = (len - sizeof(*run)) / sizeof(*arrivals);
	sched_set_fifo(current);
	if (!run->follows)
		begin(run->rate);
	for (i = 0; i < count && !error; i++)
		error = arrive(&arrivals[i]);
	if (run->goes_on)
		wait_until(base + run->goes_on);
	end = ktime_get_ns() + run->tail;
	while (!error && !run->goes_on && (packets_in_queue() || ktime_get_ns() < free_at) && ktime_get_ns() < end)
		sleep_until(ktime_get_ns() + 1000000);
	vfree(run);
	return error ? error : len;
}

static ssize_t read_departures(struct file *file, char __user *to, size_t len, loff_t *offset)
{
	return simple_read_from_buffer(to, len, offset, departures, sent * sizeof(*departures));
}

static ssize_t read_notes(struct file *file, char __user *to, size_t len, loff_t *offset)
{
	return simple_read_from_buffer(to, len, offset, &notes, sizeof(notes));
}

static const struct proc_ops operations = {
	.proc_write = run_case,
	.proc_read = read_departures,
};

static const struct proc_ops notes_operations = {
	.proc_read = read_notes,
};

static int __init link_init(void)
{
	int error;

	departures = vmalloc(MOST_DEPARTURES * sizeof(*departures));
	link = alloc_netdev(0, "link0", NET_NAME_UNKNOWN, link_setup);
	if (!departures || !link)
		return -ENOMEM;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&timer, link_is_free, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	timer.function = link_is_free;
#endif
	error = register_netdev(link);
	if (!error && !proc_create("link", 0600, NULL, &operations))
		error = -ENOMEM;
	if (!error && !proc_create("link-notes", 0400, NULL, &notes_operations))
		error = -ENOMEM;
	/* Without PIE's module there are no updates. */
	if (!error && register_kprobe(&probe))
		pr_info("link: no updates of PIE are noted\n");
	return error;
}

module_init(link_init);
MODULE_DESCRIPTION("A link of an exact rate, with arrivals at given times");
MODULE_LICENSE("Dual MIT/GPL");
