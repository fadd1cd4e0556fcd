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

/* Packets of one case: this header, then the arrivals in the order of their times. */
struct run {
	u64 rate;		/* of the link, bits per second */
	u64 tail;		/* ns after the last arrival at which the case ends, empty or not */
};

struct arrival {
	u64 at;			/* ns after the begin of the case */
	u32 len;
	u32 priority;		/* skb->priority */
	u32 hash;		/* of the flow, for qdiscs that take the socket's; 0: they make their own */
	u32 headers_len;
	u8 headers[MOST_HEADERS];
};

struct departure {
	u64 start;		/* ns after the begin of the case at which the link began to send */
	u16 number;		/* the identification of the IP header */
	u8 type_of_service;
	u8 unused[5];
};

#endif
