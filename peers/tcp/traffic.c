/*
 * What applications do over real sockets, on both ends of the wires, and a capture between them.
 *
 * usage: traffic server CONTROL KINDS
 *        traffic client SECONDS SEED BULKS CONTROL KINDS
 *        traffic capture DEVICE FILE
 *
 * The server has the addresses 10.0.2.1, 10.0.2.2 and 10.0.2.3, and sends with CONTROL, or with one
 * of CONTROL,CONTROL,CONTROL from each address. The client, which sends with the first of them,
 * as one household, does for SECONDS:
 *
 *   bulk    as many transfers as wanted, without end, from .1 and .2 in turn, each 1 s after the one before
 *   file    3 MB from .3 after 10 s
 *   web     an object of 2 to 90 kB from .3, in a connection of its own, every third of a second
 *   video   a chunk of 400 kB from .2 after each second of pause, in one connection
 *   call    50 packets of 200 bytes a second from .3
 *   pings   10 a second to .1
 *
 * KINDS are letters that change this:
 *
 *   u       an upload without end to .1 after 1 s, and one of 1 MB to .3 after 8 s and 18 s
 *   f       the file and each second object go to clients 2 and 3, at distances of their own
 *   r       a player in place of the video: chunks of 1 MB, 4 s of film each, as its buffer of 12 s
 *           has room; three readers in place of the objects: pages of 20 kB, then four parts of 10
 *           to 60 kB at once, each in a connection of its own, then a pause of .7 s
 *   b       the bulk transfers alone
 *   i       the server prints each 10 ms what TCP_INFO says of each of its connections: the time, the
 *           client's port, state, window, threshold, then in packets what is unacknowledged, selectively
 *           acknowledged, lost and sent again, the smoothed and the shortest round trip and the timeout
 *           in microseconds, the bytes a second at which it paces and at which data is delivered, and
 *           what was sent again and what was delivered so far
 *
 * SEED moves each start by up to 10 ms. It prints a line for each transfer: what, when its request
 * was written, its bytes, and the seconds from then on until the last one. A transfer that has not
 * ended has `-`.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <math.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <linux/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PORT 443
#define CALL_PORT 9001
#define SNAP 100

static void fail(const char *what)
{
	fprintf(stderr, "traffic: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

static void sleep_until(double at)
{
	struct timespec time = { .tv_sec = (time_t)at, .tv_nsec = (long)((at - floor(at)) * 1e9) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

static void start_thread(void *(*run)(void *), void *argument)
{
	pthread_t thread;
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1 << 17);
	if (pthread_create(&thread, &small, run, argument))
		fail("no thread");
}

static struct sockaddr_in address_of(unsigned server, unsigned port)
{
	return (struct sockaddr_in) {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(0x0a000200 + server),
	};
}

/* The server */

#define MOST_WATCHED 256
static pthread_mutex_t watching = PTHREAD_MUTEX_INITIALIZER;
static struct { int socket, port; } watched[MOST_WATCHED];
static int count_of_watched;

static void watch(int socket)
{
	struct sockaddr_in there = { 0 };
	socklen_t len = sizeof(there);

	getpeername(socket, (struct sockaddr *)&there, &len);
	pthread_mutex_lock(&watching);
	if (count_of_watched < MOST_WATCHED) {
		watched[count_of_watched].socket = socket;
		watched[count_of_watched++].port = ntohs(there.sin_port);
	}
	pthread_mutex_unlock(&watching);
}

static void forget(int socket)
{
	pthread_mutex_lock(&watching);
	for (int i = 0; i < count_of_watched; i++)
		if (watched[i].socket == socket)
			watched[i--] = watched[--count_of_watched];
	pthread_mutex_unlock(&watching);
}

static void *print_states(void *argument)
{
	double next = now();

	for (;; sleep_until(next += .01)) {
		pthread_mutex_lock(&watching);
		for (int i = 0; i < count_of_watched; i++) {
			struct tcp_info of = { 0 };
			socklen_t len = sizeof(of);

			if (getsockopt(watched[i].socket, IPPROTO_TCP, TCP_INFO, &of, &len))
				continue;
			printf("%.4f %d %u %u %u %u %u %u %u %u %u %u %llu %llu %u %u\n", now(), watched[i].port, of.tcpi_ca_state, of.tcpi_snd_cwnd,
			       of.tcpi_snd_ssthresh, of.tcpi_unacked, of.tcpi_sacked, of.tcpi_lost, of.tcpi_retrans, of.tcpi_rtt, of.tcpi_min_rtt, of.tcpi_rto,
			       (unsigned long long)of.tcpi_pacing_rate, (unsigned long long)of.tcpi_delivery_rate, of.tcpi_total_retrans, of.tcpi_delivered);
		}
		pthread_mutex_unlock(&watching);
		fflush(stdout);
	}
	return argument;
}

/* A request is a line: GET, or CLOSE for the last one, and the bytes wanted; -1 has no end. */
static void *serve(void *argument)
{
	static const char block[1 << 16];
	int socket = (int)(intptr_t)argument;
	FILE *requests = fdopen(socket, "r");
	char line[64], word[16];
	long long bytes;

	watch(socket);
	while (fgets(line, sizeof(line), requests) && sscanf(line, "%15s %lld", word, &bytes) == 2) {
		while (bytes != 0) {
			size_t want = bytes < 0 || bytes > (long long)sizeof(block) ? sizeof(block) : (size_t)bytes;
			ssize_t sent = send(socket, block, want, MSG_NOSIGNAL);

			if (sent < 0)
				goto closed;
			if (bytes > 0)
				bytes -= sent;
		}
		if (!strcmp(word, "CLOSE"))
			break;
	}
	/* What is no request is an upload, read to its end. */
	while (fread(line, 1, sizeof(line), requests) > 0)
		;
closed:
	forget(socket);
	fclose(requests);
	return NULL;
}

static void *serve_calls(void *argument)
{
	struct sockaddr_in here = address_of(3, CALL_PORT), there;
	int call = socket(AF_INET, SOCK_DGRAM, 0);
	char request[32], packet[172] = { 0 };

	if (call < 0 || bind(call, (struct sockaddr *)&here, sizeof(here)))
		fail("no port for calls");
	for (;;) {
		socklen_t len = sizeof(there);
		ssize_t got = recvfrom(call, request, sizeof(request) - 1, 0, (struct sockaddr *)&there, &len);
		double start = now();

		if (got <= 0)
			continue;
		request[got] = 0;
		for (int i = 0; i < atoi(request); i++) {
			sleep_until(start + i * .02);
			sendto(call, packet, sizeof(packet), 0, (struct sockaddr *)&there, sizeof(there));
		}
	}
	return argument;
}

static void *listen_at(void *argument)
{
	int listening = (int)(intptr_t)argument;

	for (;;) {
		int client = accept(listening, NULL, NULL);

		if (client >= 0)
			start_thread(serve, (void *)(intptr_t)client);
	}
	return NULL;
}

static void set_control(int socket, const char *control)
{
	if (setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, control, strlen(control)))
		fail(control);
}

static void run_server(char *controls, const char *kinds)
{
	const char *control = NULL;

	if (strchr(kinds, 'i'))
		start_thread(print_states, NULL);
	start_thread(serve_calls, NULL);
	for (unsigned server = 1; server <= 3; server++) {
		struct sockaddr_in here = address_of(server, PORT);
		int yes = 1, listening = socket(AF_INET, SOCK_STREAM, 0);
		const char *next = strtok(server == 1 ? controls : NULL, ",");

		control = next ? next : control;
		setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
		set_control(listening, control);
		if (bind(listening, (struct sockaddr *)&here, sizeof(here)) || listen(listening, 200))
			fail("no port");
		start_thread(listen_at, (void *)(intptr_t)listening);
	}
	for (;;)
		pause();
}

/* The client */

static double begin, end;
static unsigned long long seed;
static const char *control_of_client;

struct transfer {
	const char *name;
	unsigned server, client;
	double start;
	long long bytes;
};

static double draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(seed >> 11) / (double)(1ull << 53);
}

static int connect_to(unsigned server, unsigned client)
{
	struct sockaddr_in there = address_of(server, PORT), here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000100 + client) };
	int socket_of_it = socket(AF_INET, SOCK_STREAM, 0);

	if (socket_of_it < 0 || bind(socket_of_it, (struct sockaddr *)&here, sizeof(here)) || connect(socket_of_it, (struct sockaddr *)&there, sizeof(there)))
		fail("no connection");
	return socket_of_it;
}

static void ask(int socket, const char *word, long long bytes)
{
	char line[64];
	int len = snprintf(line, sizeof(line), "%s %lld\n", word, bytes);

	if (send(socket, line, len, MSG_NOSIGNAL) != len)
		fail("no request");
}

/* What arrived of so many bytes, or before the end. */
static long long take(int socket, long long bytes)
{
	static __thread char block[1 << 14];
	long long got = 0;

	while (bytes < 0 || got < bytes) {
		double left = end - now();
		struct timeval wait = { .tv_sec = (long)left, .tv_usec = (long)((left - floor(left)) * 1e6) + 1 };

		if (left <= 0)
			break;
		setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
		ssize_t more = recv(socket, block, bytes >= 0 && bytes - got < (long long)sizeof(block) ? (size_t)(bytes - got) : sizeof(block), 0);
		if (more <= 0)
			break;
		got += more;
	}
	return got;
}

static void print_transfer(const char *name, double start, long long wanted, long long got)
{
	if (got == wanted)
		printf("%s %.6f %lld %.6f\n", name, start - begin, wanted, now() - start);
	else
		printf("%s %.6f %lld -\n", name, start - begin, got);
}

static void *bulk(void *argument)
{
	struct transfer *transfer = argument;

	sleep_until(transfer->start);
	int socket = connect_to(transfer->server, transfer->client);
	ask(socket, "GET", -1);
	long long got = take(socket, -1);
	print_transfer(transfer->name, transfer->start, -1, got);
	close(socket);
	return NULL;
}

static void *fetch(void *argument)
{
	struct transfer *transfer = argument;

	sleep_until(transfer->start);
	int socket = connect_to(transfer->server, transfer->client);
	double start = now();
	ask(socket, "CLOSE", transfer->bytes);
	long long got = take(socket, transfer->bytes);
	print_transfer(transfer->name, start, transfer->bytes, got);
	close(socket);
	return NULL;
}

static void *video(void *argument)
{
	struct transfer *transfer = argument;

	sleep_until(transfer->start);
	int socket = connect_to(transfer->server, transfer->client);
	while (now() < end - 1) {
		double start = now();
		ask(socket, "GET", transfer->bytes);
		print_transfer(transfer->name, start, transfer->bytes, take(socket, transfer->bytes));
		sleep_until(now() + 1);
	}
	close(socket);
	return NULL;
}

/* A player asks for the next chunk when its buffer has room for it. */
static void *player(void *argument)
{
	const double chunk = 4, room = 12;
	struct transfer *transfer = argument;

	sleep_until(transfer->start);
	int socket = connect_to(transfer->server, transfer->client);
	double empty_at = now();
	while (now() < end - 1) {
		double start = now();
		ask(socket, "GET", transfer->bytes);
		print_transfer(transfer->name, start, transfer->bytes, take(socket, transfer->bytes));
		empty_at = (empty_at > now() ? empty_at : now()) + chunk;
		sleep_until(empty_at + chunk - room);
	}
	close(socket);
	return NULL;
}

static void *part(void *argument)
{
	fetch(argument);
	return NULL;
}

/* A reader fetches a page, then its parts at once, and reads. */
static void *reader(void *argument)
{
	struct transfer *transfer = argument;
	struct transfer parts[4];
	pthread_t threads[4];

	for (int page = 0; transfer->start < end - 3; page++) {
		fetch(transfer);
		double start = transfer->start;
		for (int i = 0; i < 4; i++) {
			parts[i] = (struct transfer) { "web", transfer->server, transfer->client, now(), 10000 + (page * 4 + i) * 7919 % 50000 };
			if (pthread_create(&threads[i], NULL, part, &parts[i]))
				fail("no thread");
		}
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
		print_transfer("page", start, 0, 0);
		transfer->start = now() + .7;
	}
	return NULL;
}

/* What an upload brought to its end: all of its bytes, or what was acknowledged when the run ended. */
static void *upload(void *argument)
{
	static const char block[1 << 16];
	struct transfer *transfer = argument;
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);
	long long sent = 0;

	sleep_until(transfer->start);
	int socket = connect_to(transfer->server, transfer->client);
	set_control(socket, control_of_client);
	double start = now();
	while (now() < end && sent != transfer->bytes) {
		size_t want = transfer->bytes < 0 || transfer->bytes - sent > (long long)sizeof(block) ? sizeof(block) : (size_t)(transfer->bytes - sent);
		struct timeval wait = { .tv_sec = 0, .tv_usec = 200000 };
		setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
		ssize_t more = send(socket, sent ? block : "\n", sent ? want : 1, MSG_NOSIGNAL);

		if (more < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
			break;
		sent += more > 0 ? more : 0;
	}
	/* All that was written has arrived when it is acknowledged. */
	for (;;) {
		getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &len);
		if (now() >= end || info.tcpi_unacked + info.tcpi_notsent_bytes == 0)
			break;
		usleep(2000);
	}
	print_transfer(transfer->name, start, transfer->bytes, transfer->bytes < 0 ? (long long)info.tcpi_bytes_acked : sent);
	close(socket);
	return NULL;
}

static void *call(void *argument)
{
	struct transfer *transfer = argument;
	struct sockaddr_in there = address_of(transfer->server, CALL_PORT);
	int socket_of_it = socket(AF_INET, SOCK_DGRAM, 0);
	char packet[256];
	struct timeval second = { .tv_sec = 1 };

	sleep_until(transfer->start);
	int len = snprintf(packet, sizeof(packet), "%d", (int)((end - transfer->start - .3) * 50));
	setsockopt(socket_of_it, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	sendto(socket_of_it, packet, len, 0, (struct sockaddr *)&there, sizeof(there));
	while (now() < end)
		recv(socket_of_it, packet, sizeof(packet), 0);
	close(socket_of_it);
	return NULL;
}

static uint16_t checksum(const uint16_t *words, int count)
{
	uint32_t sum = 0;

	for (int i = 0; i < count; i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~(sum + (sum >> 16));
}

static void *pings(void *argument)
{
	struct transfer *transfer = argument;
	struct sockaddr_in there = address_of(transfer->server, 0);
	int raw = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
	uint16_t packet[32] = { 0 };
	struct icmphdr *header = (struct icmphdr *)packet;

	for (int i = 0; transfer->start + i * .1 < end - .3; i++) {
		sleep_until(transfer->start + i * .1);
		*header = (struct icmphdr) { .type = ICMP_ECHO, .un.echo = { htons(7), htons(i) } };
		header->checksum = checksum(packet, 32);
		sendto(raw, packet, sizeof(packet), 0, (struct sockaddr *)&there, sizeof(there));
	}
	close(raw);
	return NULL;
}

static void plan_of(unsigned client, void *(*run)(void *), const char *name, unsigned server, double start, long long bytes)
{
	struct transfer *transfer = malloc(sizeof(*transfer));

	*transfer = (struct transfer) { name, server, client, begin + start + draw() * .01, bytes };
	start_thread(run, transfer);
}

static void plan(void *(*run)(void *), const char *name, unsigned server, double start, long long bytes)
{
	plan_of(1, run, name, server, start, bytes);
}

/* Sizes spread over a decade and a half, the same in each run: the n-th of a sequence that fills the unit interval. */
static long long size_of_object(int number)
{
	double place = number * .6180339887498949;

	return (long long)(2000 * pow(45, place - floor(place)));
}

static void run_client(double seconds, unsigned long long number, int bulks, const char *kinds)
{
	bool has_clients = strchr(kinds, 'f'), reacts = strchr(kinds, 'r');

	seed = 88172645463325252ull + number * 0x9e3779b97f4a7c15ull;
	for (int i = 0; i < 20; i++)
		draw();
	setvbuf(stdout, NULL, _IOLBF, 0);
	begin = now() + .5;
	end = begin + seconds;
	for (int i = 0; i < bulks; i++)
		plan(bulk, "bulk", 1 + i % 2, i, -1);
	if (strchr(kinds, 'b')) {
		sleep_until(end + .2);
		exit(0);
	}
	if (seconds > 12)
		plan_of(has_clients ? 2 : 1, fetch, "file", 3, 10, 3000000);
	for (int i = 0; !reacts && 1 + i / 3. < seconds - 2; i++)
		plan_of(has_clients && i % 2 ? 3 : 1, fetch, "web", 3, 1 + i / 3., size_of_object(i));
	for (int i = 0; reacts && i < 3; i++)
		plan(reader, "web", 3, 1 + i / 3., 20000);
	if (reacts)
		plan(player, "video", 2, 2, 1000000);
	else
		plan(video, "video", 2, 2, 400000);
	if (strchr(kinds, 'u')) {
		plan(upload, "upload", 1, 1, -1);
		plan(upload, "sent", 3, 8, 1000000);
		if (seconds > 20)
			plan(upload, "sent", 3, 18, 1000000);
	}
	plan(call, "call", 3, .5, 0);
	plan(pings, "ping", 1, .5, 0);
	sleep_until(end + .2);
	exit(0);
}

/* The capture: pcap with nanoseconds, raw IP, the first bytes of each packet. */

static volatile sig_atomic_t is_over;

static void stop(int signal)
{
	(void)signal;
	is_over = 1;
}

static void run_capture(const char *device, const char *path)
{
	static char buffer[1 << 20];
	uint32_t header[6] = { 0xa1b23c4d, 2 | 4 << 16, 0, 0, SNAP, 101 };
	struct sockaddr_ll here = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex(device) };
	int yes = 1, room = 64 << 20, packets = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL));
	FILE *file = fopen(path, "w");

	if (packets < 0 || !file || bind(packets, (struct sockaddr *)&here, sizeof(here)))
		fail(device);
	setsockopt(packets, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	setsockopt(packets, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof(yes));
	struct sigaction action = { .sa_handler = stop };
	sigaction(SIGTERM, &action, NULL);
	setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	fwrite(header, sizeof(header), 1, file);
	while (!is_over) {
		char bytes[SNAP], control[128];
		struct iovec where = { bytes, sizeof(bytes) };
		struct msghdr message = { .msg_iov = &where, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
		ssize_t len = recvmsg(packets, &message, MSG_TRUNC | MSG_DONTWAIT);

		/* Not for each packet, because in this guest a change of process takes longer than a packet. */
		if (len <= 0) {
			usleep(100000);
			continue;
		}
		struct timespec time = { 0 };
		for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part))
			if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SO_TIMESTAMPNS)
				memcpy(&time, CMSG_DATA(part), sizeof(time));
		uint32_t kept = len < SNAP ? (uint32_t)len : SNAP;
		uint32_t record[4] = { (uint32_t)time.tv_sec, (uint32_t)time.tv_nsec, kept, (uint32_t)len };
		fwrite(record, sizeof(record), 1, file);
		fwrite(bytes, kept, 1, file);
	}
	fclose(file);
}

int main(int count, char **words)
{
	signal(SIGPIPE, SIG_IGN);
	if (count == 4 && !strcmp(words[1], "server"))
		run_server(words[2], words[3]);
	else if (count == 7 && !strcmp(words[1], "client")) {
		control_of_client = strtok(words[5], ",");
		run_client(atof(words[2]), strtoull(words[3], NULL, 10), atoi(words[4]), words[6]);
	}
	else if (count == 4 && !strcmp(words[1], "capture"))
		run_capture(words[2], words[3]);
	else
		fail("usage: traffic server CONTROL KINDS, client SECONDS SEED BULKS CONTROL KINDS, capture DEVICE FILE");
	return 0;
}
