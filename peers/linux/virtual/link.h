/* What `timed` writes to /proc/link, and what it reads from there. */
#ifndef LINK_H
#define LINK_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;
#endif

/* Most bytes of an IPv4 header and a TCP header with options. */
#define MOST_HEADERS 80

/* Packets of one case, or of a part of it: this header, then the arrivals in the order of their times. */
struct run {
	u64 rate;		/* of the link, bits per second */
	u64 tail;		/* ns after the last arrival at which the case ends, empty or not */
	u64 goes_on;		/* not 0: a part follows, and this one ends so many ns after the case's begin */
	u64 follows;		/* not 0: the case has begun with the part before */
};

struct arrival {
	u64 at;			/* ns after the begin of the case */
	u32 len;
	u32 priority;		/* skb->priority */
	u32 hash;		/* of the flow, for qdiscs that take the socket's; 0: they make their own */
	u32 headers_len;
	u64 rate;		/* not 0: no packet, but the link's rate from now on */
	u8 headers[MOST_HEADERS];
};

struct departure {
	u64 start;		/* ns after the begin of the case at which the link began to send */
	u16 number;		/* the identification of the IP header */
	u8 type_of_service;
	u8 unused[5];
};

/* What /proc/link-notes has: the begin of the case by CLOCK_MONOTONIC, and when PIE's probabilities were
 * updated, in ns after it. */
#define MOST_UPDATES 1024

struct notes {
	u64 base;
	u64 count;
	u64 updates[MOST_UPDATES];
};

#endif
