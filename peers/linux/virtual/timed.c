/*
 * Departures of a Linux qdisc on a link of an exact rate, packet by packet.
 *
 * usage: timed CASES RESULTS
 *
 * CASES is the list of lines that `orders` reads, with
 *
 *   rate BITS             the link's rate, bits per second; 10,000,000 without this line
 *   tail MILLISECONDS     how long the case goes on after its last arrival; 20,000 without this line
 *   q FLOW QUEUE          the flow's hash, for qdiscs that take the socket's: its queue among 1024.
 *                         No two flows have the same hash
 *   k FLOW HASH           the flow's hash itself
 *   s HEX                 a TCP header with its options: the next packet has it, and not one of UDP
 *   t MICROSECONDS        the time of the arrivals that follow, from the begin of the case
 *   r BITS                from this time on the link's rate; the packet on the link ends as it began
 *   x COMMAND             a command of tc at this time: `changed NAME BEGIN END` tells the ns at which it
 *                         began and ended
 *   ? COMMAND             a shell command, before the packets: what it prints follows as lines
 *                         `says NAME ..`
 *
 * and without `d`: the link takes the next packet when it has sent the one before.
 *
 * RESULTS has a line for each case: the name, then NUMBER@NANOSECONDS for each packet that was
 * sent, in this order, at the time at which the link began to send it, with `!` behind the number
 * if CE was set by the qdisc. Packets that are missing were dropped, or left at the case's end. A line
 * `updates NAME NANOSECONDS ..` follows if PIE's probabilities were updated in the meantime.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>
#include <sys/socket.h>

#include "../cases.h"
#include "link.h"

#define MOST 65536

static const char device[] = "link0";
static FILE *results;

/* The case that is being read. */
static struct {
	char name[1 << 12];
	int is_open;
	struct run run;
	struct arrival arrivals[MOST];
	unsigned count;
	/* Packets of this case, and the code point and ECN that each had. */
	unsigned numbers;
	uint8_t types_of_service[MOST];
	u64 now;
	/* Hashes of flows, and the TCP header of the next packet. */
	u32 hashes[MOST];
	uint8_t segment[MOST_HEADERS - 20];
	unsigned segment_len;
	char commands[1 << 16];
	size_t commands_len;
} current;

static void set_device(unsigned long request, struct ifreq *change)
{
	int any = socket(AF_INET, SOCK_DGRAM, 0);
	strcpy(change->ifr_name, device);
	if (any < 0 || ioctl(any, request, change))
		fail("the device, request %lx, %d", request, change->ifr_qlen);
	close(any);
}

static void set_queue(unsigned packets)
{
	set_device(SIOCSIFTXQLEN, &(struct ifreq) { .ifr_qlen = packets });
}

static void set_longest(unsigned bytes)
{
	set_device(SIOCSIFMTU, &(struct ifreq) { .ifr_mtu = bytes });
}

static void run_commands(void)
{
	if (current.commands_len)
		run_tc(current.commands, current.commands_len);
	current.commands_len = 0;
}

static const struct notes *read_notes(void)
{
	static struct notes notes;
	int file = open("/proc/link-notes", O_RDONLY);
	if (file < 0 || read(file, &notes, sizeof notes) != sizeof notes)
		fail("the link's notes");
	close(file);
	return &notes;
}

/* Gives the packets so far to the link, which returns when they have arrived, or all have left. */
static void run_part(int file)
{
	static uint8_t bytes[sizeof current.run + sizeof current.arrivals];
	size_t len = current.count * sizeof *current.arrivals;
	memcpy(bytes, &current.run, sizeof current.run);
	memcpy(bytes + sizeof current.run, current.arrivals, len);
	len += sizeof current.run;
	if (file < 0 || write(file, bytes, len) != (ssize_t)len)
		fail("the link");
	/* The module has made the process one of real time. */
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param) { 0 });
	current.run.follows = 1;
	current.count = 0;
}

static u64 since(u64 base)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec - base;
}

static void change(const char *command)
{
	static char line[1 << 12];
	size_t len = 0;
	int file = open("/proc/link", O_RDWR);
	current.run.goes_on = current.now;
	run_part(file);
	current.run.goes_on = 0;
	close(file);
	add_command(line, &len, command, device);
	u64 base = read_notes()->base;
	u64 begin = since(base);
	run_tc(line, len);
	fprintf(results, "changed %s %llu %llu\n", current.name, (unsigned long long)begin, (unsigned long long)since(base));
}

static void run_case(void)
{
	static struct departure departures[2 * MOST];
	int file = open("/proc/link", O_RDWR);
	run_part(file);
	size_t got = 0;
	for (ssize_t more; (more = pread(file, (char *)departures + got, sizeof departures - got, got)) > 0;)
		got += more;
	close(file);
	fprintf(results, "%s", current.name);
	for (size_t i = 0; i < got / sizeof *departures; i++) {
		const struct departure *departure = &departures[i];
		uint8_t sent = current.types_of_service[departure->number];
		int marked = (departure->type_of_service & 3) == 3 && (sent & 3) != 3;
		fprintf(results, " %u%s@%llu", departure->number, marked ? "!" : "", (unsigned long long)departure->start);
	}
	fprintf(results, "\n");
	const struct notes *notes = read_notes();
	if (notes->count) {
		fprintf(results, "updates %s", current.name);
		for (u64 i = 0; i < notes->count; i++)
			fprintf(results, " %llu", (unsigned long long)notes->updates[i]);
		fprintf(results, "\n");
	}
	run_tc("qdisc del dev link0 root\n", strlen("qdisc del dev link0 root\n"));
}

static void open_case(const char *name)
{
	memset(&current, 0, sizeof current);
	memset(hosts, 0, sizeof hosts);
	snprintf(current.name, sizeof current.name, "%s", name);
	current.is_open = 1;
	current.run = (struct run) { .rate = 10000000, .tail = 20000000000ull };
	set_queue(1000);
	set_longest(LONGEST);
}

static void ask(const char *command)
{
	char line[4096];
	run_commands();
	FILE *output = popen(command, "r");
	if (!output)
		fail("'%s'", command);
	while (fgets(line, sizeof line, output))
		fprintf(results, "says %s %s", current.name, line);
	pclose(output);
}

static void arrive(unsigned class, unsigned flow, unsigned len, unsigned type_of_service)
{
	if (current.count == MOST || current.numbers == MOST)
		fail("too many packets");
	struct arrival *arrival = &current.arrivals[current.count];
	*arrival = (struct arrival) { .at = current.now };
	arrival->len = len;
	arrival->priority = priority_of(class);
	arrival->hash = flow < MOST ? current.hashes[flow] : 0;
	if (current.segment_len) {
		if (len < 20 + current.segment_len || len > LONGEST)
			fail("a length of %u", len);
		write_ip_header(arrival->headers, current.numbers, flow, len, type_of_service, 6);
		memcpy(arrival->headers + 20, current.segment, current.segment_len);
		arrival->headers_len = 20 + current.segment_len;
		current.segment_len = 0;
	} else {
		write_headers(arrival->headers, current.numbers, flow, len, type_of_service);
		arrival->headers_len = HEADERS;
	}
	current.types_of_service[current.numbers++] = type_of_service;
	current.count++;
}

static void set_rate(u64 rate)
{
	if (current.count == MOST)
		fail("too many packets");
	current.arrivals[current.count++] = (struct arrival) { .at = current.now, .rate = rate };
}

static void read_segment(const char *hex)
{
	unsigned byte;
	current.segment_len = 0;
	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2) {
		if (current.segment_len == sizeof current.segment)
			fail("a header longer than %zu bytes", sizeof current.segment);
		current.segment[current.segment_len++] = byte;
	}
}

int main(int argc, char **argv)
{
	FILE *cases = argc == 3 ? fopen(argv[1], "r") : NULL;
	results = cases ? fopen(argv[2], "w") : NULL;
	if (!results)
		fail("usage: timed CASES RESULTS");
	set_device(SIOCSIFFLAGS, &(struct ifreq) { .ifr_flags = IFF_UP | IFF_NOARP | IFF_POINTOPOINT });
	static char text[1 << 12];
	while (fgets(text, sizeof text, cases)) {
		unsigned a, b, c, d;
		unsigned long long wide;
		text[strcspn(text, "\n")] = 0;
		if (text[0] != '$')
			run_commands();
		if (!strncmp(text, "case ", 5)) {
			if (current.is_open)
				run_case();
			open_case(text + 5);
		} else if (text[0] == '$') {
			add_command(current.commands, &current.commands_len, text + 2, device);
		} else if (text[0] == '?') {
			ask(text + 2);
		} else if (sscanf(text, "rate %llu", &wide) == 1) {
			current.run.rate = wide;
		} else if (sscanf(text, "tail %llu", &wide) == 1) {
			current.run.tail = wide * 1000000;
		} else if (sscanf(text, "t %llu", &wide) == 1) {
			current.now = wide * 1000;
		} else if (sscanf(text, "r %llu", &wide) == 1) {
			set_rate(wide);
		} else if (!strncmp(text, "x ", 2)) {
			change(text + 2);
		} else if (sscanf(text, "l %u", &a) == 1) {
			set_queue(a);
		} else if (sscanf(text, "m %u", &a) == 1) {
			set_longest(a);
		} else if (sscanf(text, "h %u %u %u", &a, &b, &c) == 3) {
			set_hosts(a, b, c);
		} else if (sscanf(text, "q %u %u", &a, &b) == 2 && a < MOST) {
			current.hashes[a] = (a + 1) * 1024 + b;
		} else if (sscanf(text, "k %u %u", &a, &b) == 2 && a < MOST) {
			current.hashes[a] = b;
		} else if (!strncmp(text, "s ", 2)) {
			read_segment(text + 2);
		} else if (sscanf(text, "a %u %u %u %u", &a, &b, &c, &d) == 4) {
			arrive(a, b, c, d);
		} else {
			fail("'%s'", text);
		}
	}
	if (current.is_open)
		run_case();
	fclose(results);
	return 0;
}
