/*
 * Departure orders of a Linux qdisc, packet by packet, without a clock.
 *
 * usage: orders CASES RESULTS
 *
 * The device is a SLIP line over a pseudo terminal. SLIP stops the device's queue while a packet is
 * on the line, and one read of the terminal's other end finishes this packet: the qdisc then chooses
 * the next one. Each `d` below is therefore exactly one choice. Packets come from an AF_PACKET
 * socket. SO_PRIORITY selects the class, so that no filter takes part.
 *
 * CASES is a list of lines:
 *
 *   case NAME              a new device follows
 *   l PACKETS              the length of the device's queue (txqueuelen)
 *   m BYTES                the device's MTU; 4000 without this line
 *   $ COMMAND              a command of tc, with DEV for the device; all of a run go to one tc
 *   h FLOW SOURCE DEST     the flow, below 256, is one between these hosts, 1 to 254; without this
 *                          line it is one from a host of its own to 10.255.0.1
 *   a CLASS FLOW LEN TOS   a packet of LEN bytes arrives; TOS is the byte of the IP header: code
 *                          point and ECN
 *                          (CLASS 1000 and up: no class, and SO_PRIORITY is CLASS - 1000)
 *   d                      the packet on the line is finished, and the qdisc chooses again
 *   t MICROSECONDS         wait until this time of the case (the guest's clock is the real one)
 *
 * RESULTS has a line for each case: the name, then one word for each packet that came over the line,
 * in this order (the number of its arrival, from 0, with `!` behind if CE was set by the qdisc).
 * Packets that are missing were dropped. After a case with `t` follows a line `times NAME`, with the
 * times in microseconds at which each `a` and `d` began and ended, and so for the end of the case.
 */
#define _GNU_SOURCE
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>

#include "cases.h"

#define END 0xC0
#define ESC 0xDB

struct line {
	int terminal, slave, socket;
	char name[IFNAMSIZ];
	int index;
	/* Bytes of the packet that is being received. */
	uint8_t packet[2 * LONGEST];
	size_t len;
	int escaped;
	/* A packet is on the line. */
	int busy;
};

static FILE *results;
/* ECN as sent, by number. */
static uint8_t sent_ecn[65536];

/* Times at which the steps of a case begin and end, in microseconds. */
static uint64_t times[1 << 17];
static unsigned steps;
static int is_timed;
static struct timespec start;

static void set(struct line *line, unsigned long request, struct ifreq *change)
{
	memcpy(change->ifr_name, line->name, IFNAMSIZ);
	if (ioctl(line->socket, request, change))
		fail("the device");
}

static void set_queue(struct line *line, unsigned packets)
{
	struct ifreq change = { .ifr_qlen = packets };
	set(line, SIOCSIFTXQLEN, &change);
}

static void open_line(struct line *line)
{
	memset(line, 0, sizeof *line);
	line->terminal = posix_openpt(O_RDWR | O_NOCTTY);
	if (line->terminal < 0 || grantpt(line->terminal) || unlockpt(line->terminal))
		fail("no terminal");
	line->slave = open(ptsname(line->terminal), O_RDWR | O_NOCTTY);
	if (line->slave < 0)
		fail("no line");
	struct termios raw;
	tcgetattr(line->terminal, &raw);
	cfmakeraw(&raw);
	tcsetattr(line->terminal, TCSANOW, &raw);
	tcsetattr(line->slave, TCSANOW, &raw);
	int discipline = N_SLIP;
	if (ioctl(line->slave, TIOCSETD, &discipline) || ioctl(line->slave, SIOCGIFNAME, line->name))
		fail("no SLIP");
	discipline = 0; /* plain SLIP, without compression */
	ioctl(line->slave, SIOCSIFENCAP, &discipline);
	line->index = if_nametoindex(line->name);
	/* Sends only: receives no protocol. */
	line->socket = socket(AF_PACKET, SOCK_DGRAM, 0);
	int bytes = 1 << 30;
	if (line->socket < 0 || setsockopt(line->socket, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes))
		fail("no socket");
	struct ifreq change = { .ifr_mtu = LONGEST };
	set(line, SIOCSIFMTU, &change);
	change = (struct ifreq) { .ifr_flags = IFF_UP | IFF_NOARP | IFF_POINTOPOINT };
	set(line, SIOCSIFFLAGS, &change);
	set_queue(line, 1000);
}

static void close_line(struct line *line)
{
	close(line->socket);
	close(line->slave);
	close(line->terminal);
}

static void note_time(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (steps == sizeof times / sizeof *times)
		fail("too many steps");
	times[steps++] = (now.tv_sec - start.tv_sec) * 1000000LL + (now.tv_nsec - start.tv_nsec) / 1000;
}

static void wait_until(unsigned micros)
{
	struct timespec until = start;
	until.tv_sec += micros / 1000000;
	until.tv_nsec += micros % 1000000 * 1000;
	if (until.tv_nsec >= 1000000000)
		until.tv_sec++, until.tv_nsec -= 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
	is_timed = 1;
}

/* Kernel threads move packets from the qdisc to the line. This process has the lowest policy, and they
 * run as soon as it gives way. */
static void let_kernel_run(void)
{
	for (int i = 0; i < 8; i++)
		sched_yield();
}

static void arrive(struct line *line, unsigned number, unsigned class, unsigned flow, unsigned len, unsigned ecn)
{
	static uint8_t packet[65536];
	write_headers(packet, number, flow, len, ecn);
	sent_ecn[number] = ecn & 3;
	unsigned priority = priority_of(class);
	if (setsockopt(line->socket, SOL_SOCKET, SO_PRIORITY, &priority, sizeof priority))
		fail("priority");
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_ifindex = line->index };
	/* A dropped packet is ENOBUFS. */
	if (sendto(line->socket, packet, len, 0, (struct sockaddr *)&to, sizeof to) < 0 && errno != ENOBUFS)
		fail("packet %u", number);
	let_kernel_run();
}

static void received(struct line *line)
{
	if (line->len < 20)
		fail("a packet of %zu bytes", line->len);
	unsigned number = line->packet[4] << 8 | line->packet[5];
	int marked = (line->packet[1] & 3) == 3 && sent_ecn[number] != 3;
	fprintf(results, " %u%s", number, marked ? "!" : "");
	line->len = 0;
	line->busy = 0;
}

/* Reads one packet from the line, if one is on it. Returns false if the line is idle. */
static int finish(struct line *line)
{
	static uint8_t bytes[2 * LONGEST];
	for (int packets = 0; !packets;) {
		struct pollfd poll_fd = { .fd = line->terminal, .events = POLLIN };
		if (poll(&poll_fd, 1, 0) < 1)
			return 0;
		ssize_t count = read(line->terminal, bytes, sizeof bytes);
		if (count < 0)
			fail("the terminal");
		for (ssize_t i = 0; i < count; i++) {
			uint8_t byte = bytes[i];
			if (byte == END) {
				if (line->len) {
					received(line);
					packets++;
				}
			} else if (byte == ESC) {
				line->escaped = 1;
			} else {
				if (line->escaped)
					byte = byte == 0xDC ? END : ESC;
				line->escaped = 0;
				if (line->len == sizeof line->packet)
					fail("no end of a packet");
				line->packet[line->len++] = byte;
			}
		}
		if (packets > 1)
			fail("%d packets at once", packets);
		let_kernel_run();
	}
	return 1;
}

static void end_case(struct line *line, const char *name)
{
	note_time();
	while (finish(line))
		;
	note_time();
	fprintf(results, "\n");
	if (is_timed) {
		fprintf(results, "times %s", name);
		for (unsigned i = 0; i < steps; i++)
			fprintf(results, " %llu", (unsigned long long)times[i]);
		fprintf(results, "\n");
	}
	close_line(line);
}

int main(int argc, char **argv)
{
	FILE *cases = argc == 3 ? fopen(argv[1], "r") : NULL;
	results = cases ? fopen(argv[2], "w") : NULL;
	if (!results)
		fail("usage: orders CASES RESULTS");
	struct sched_param lowest = { 0 };
	if (sched_setscheduler(0, SCHED_IDLE, &lowest))
		fail("no policy");
	struct line line;
	int is_open = 0;
	unsigned number = 0;
	static char text[1 << 12], name[1 << 12], commands[1 << 16];
	size_t commands_len = 0;
	while (fgets(text, sizeof text, cases)) {
		unsigned class, flow, len, ecn;
		text[strcspn(text, "\n")] = 0;
		if (text[0] != '$' && commands_len) {
			run_tc(commands, commands_len);
			commands_len = 0;
		}
		if (!strncmp(text, "case ", 5)) {
			if (is_open)
				end_case(&line, name);
			open_line(&line);
			memset(hosts, 0, sizeof hosts);
			is_open = 1, number = 0, steps = 0, is_timed = 0;
			clock_gettime(CLOCK_MONOTONIC, &start);
			snprintf(name, sizeof name, "%s", text + 5);
			fprintf(results, "%s", name);
		} else if (text[0] == '$') {
			add_command(commands, &commands_len, text + 2, line.name);
		} else if (sscanf(text, "l %u", &len) == 1) {
			set_queue(&line, len);
		} else if (sscanf(text, "m %u", &len) == 1) {
			struct ifreq change = { .ifr_mtu = len };
			set(&line, SIOCSIFMTU, &change);
		} else if (sscanf(text, "h %u %u %u", &flow, &len, &ecn) == 3) {
			set_hosts(flow, len, ecn);
		} else if (sscanf(text, "a %u %u %u %u", &class, &flow, &len, &ecn) == 4) {
			if (number > 65535)
				fail("too many packets");
			note_time();
			arrive(&line, number++, class, flow, len, ecn);
			note_time();
		} else if (!strcmp(text, "d")) {
			note_time();
			finish(&line);
			note_time();
		} else if (sscanf(text, "t %u", &len) == 1) {
			wait_until(len);
		} else {
			fail("'%s'", text);
		}
	}
	if (is_open)
		end_case(&line, name);
	fclose(results);
	return 0;
}
