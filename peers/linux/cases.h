/* What the programs of the guests share: messages, commands of tc, packets. */
#ifndef CASES_H
#define CASES_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <net/if.h>

#define LONGEST 4000
/* The qdisc under test has this major number in all cases. */
#define MAJOR 0x10
/* Classes from here on are values of the packet's priority, without a class. */
#define PRIORITY 1000
/* An IPv4 and a UDP header. */
#define HEADERS 28

/* Hosts of flows: source and destination, or 0. */
static uint8_t hosts[256][2];

static void fail(const char *format, ...)
{
	va_list list;
	va_start(list, format);
	fprintf(stderr, "guest: ");
	vfprintf(stderr, format, list);
	fprintf(stderr, ": %s\n", strerror(errno));
	va_end(list);
	exit(1);
}

/* The commands are given to one tc. */
static void run_tc(const char *commands, size_t len)
{
	int ends[2];
	if (pipe(ends) || fcntl(ends[1], F_SETPIPE_SZ, 1 << 16) < 0)
		fail("no pipe");
	fflush(NULL);
	pid_t child = vfork();
	if (child == 0) {
		dup2(ends[0], 0);
		close(ends[1]);
		execlp("tc", "tc", "-batch", "-", NULL);
		_exit(127);
	}
	close(ends[0]);
	if (child < 0 || write(ends[1], commands, len) != (ssize_t)len)
		fail("no tc");
	close(ends[1]);
	int status;
	if (waitpid(child, &status, 0) != child || status != 0)
		fail("tc: status %d of\n%.*s", status, (int)len, commands);
}

/* Adds a command, with the device's name for DEV. */
static void add_command(char *commands, size_t *len, const char *command, const char *device)
{
	for (const char *at; (at = strstr(command, "DEV")); command = at + 3)
		*len += sprintf(commands + *len, "%.*s%s", (int)(at - command), command, device);
	*len += sprintf(commands + *len, "%s\n", command);
}

static void set_hosts(unsigned flow, unsigned source, unsigned destination)
{
	if (flow > 255 || source - 1 > 253 || destination - 1 > 253)
		fail("hosts %u %u %u", flow, source, destination);
	hosts[flow][0] = source, hosts[flow][1] = destination;
}

static uint32_t priority_of(unsigned class)
{
	return class >= PRIORITY ? class - PRIORITY : class ? MAJOR << 16 | class : 0;
}

/* The IP header of a packet whose identification is its number, between the hosts of its flow. */
static void write_ip_header(uint8_t *packet, unsigned number, unsigned flow, unsigned len, unsigned type_of_service, uint8_t protocol)
{
	memset(packet, 0, 20);
	packet[0] = 0x45;
	packet[1] = type_of_service;
	packet[2] = len >> 8, packet[3] = len;
	packet[4] = number >> 8, packet[5] = number;
	packet[8] = 64, packet[9] = protocol;
	packet[12] = 10, packet[13] = flow >> 16, packet[14] = flow >> 8, packet[15] = flow;
	packet[16] = 10, packet[17] = 255, packet[18] = 0, packet[19] = 1;
	if (flow < 256 && hosts[flow][0]) {
		packet[13] = 254, packet[14] = 0, packet[15] = hosts[flow][0];
		packet[19] = hosts[flow][1];
	}
	uint32_t sum = 0;
	for (int i = 0; i < 20; i += 2)
		sum += packet[i] << 8 | packet[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~(sum + (sum >> 16));
	packet[10] = sum >> 8, packet[11] = sum;
}

/* Headers of a packet of UDP, from the port of its flow. */
static void write_headers(uint8_t *packet, unsigned number, unsigned flow, unsigned len, unsigned type_of_service)
{
	if (len < HEADERS || len > LONGEST)
		fail("a length of %u", len);
	write_ip_header(packet, number, flow, len, type_of_service, 17);
	memset(packet + 20, 0, 8);
	packet[20] = flow >> 8, packet[21] = flow, packet[23] = 9;
	packet[24] = (len - 20) >> 8, packet[25] = len - 20;
}

#endif
