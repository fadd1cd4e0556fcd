/* Preloaded into user-mode-linux: room for the registers of its processes on processors with AMX.
 *
 * The kernel of user-mode-linux 6.1 reads the extended registers (XSAVE area, NT_X86_XSTATE) of a
 * process into a buffer that has no room for the tiles of AMX, and writes this buffer back. The host
 * refuses an area that is shorter than its own: "ptrace set fp regs failed". Here the host gets an
 * area of full length: the components that the short buffer holds, and the others in their initial
 * state, in which no process of the guest leaves them, since none is told that they exist.
 *
 * Layout of the area: Intel, Software Developer's Manual, volume 1, section 13.4. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* Number of the register set, as in linux/elf.h. */
enum { XSTATE = 0x202 };
/* Place of XSTATE_BV, the components that are not in their initial state, and end of the header. */
enum { COMPONENTS = 512, HEADER_END = 576 };

static unsigned char area[1 << 16];

static size_t least(size_t one, size_t other) { return one < other ? one : other; }

static long call(long request, long process, void *address, void *data) {
    return syscall(SYS_ptrace, request, process, address, data);
}

/* Components within the first `len` bytes: x87 and SSE come before the header, of the others the
 * processor tells place and size. Asked once, because in a virtual machine each CPUID is an exit to
 * the hypervisor, and there are sixty: asked at every switch between kernel and process, they took
 * nine tenths of the guest's time. The kernel has a single length of buffer. */
static uint64_t components_within(size_t len) {
    static uint64_t within;
    static size_t asked_len;
    if (asked_len == len)
        return within;
    within = 3;
    asked_len = len;
    for (unsigned component = 2; component < 63; component++) {
        unsigned size = 0, place = 0, c, d;
        if (__get_cpuid_count(0xd, component, &size, &place, &c, &d) && size && place >= HEADER_END && place + size <= len)
            within |= UINT64_C(1) << component;
    }
    return within;
}

static long read_area(long process, struct iovec *short_buffer) {
    struct iovec whole = { area, sizeof area };
    long result = call(PTRACE_GETREGSET, process, (void *)XSTATE, &whole);
    if (result < 0)
        return result;
    short_buffer->iov_len = least(short_buffer->iov_len, whole.iov_len);
    memcpy(short_buffer->iov_base, area, short_buffer->iov_len);
    return result;
}

static long write_area(long process, const struct iovec *short_buffer) {
    struct iovec whole = { area, sizeof area };
    long result = call(PTRACE_GETREGSET, process, (void *)XSTATE, &whole);
    if (result < 0)
        return result;
    size_t len = least(short_buffer->iov_len, whole.iov_len);
    memcpy(area, short_buffer->iov_base, len);
    uint64_t components;
    memcpy(&components, area + COMPONENTS, sizeof components);
    components &= components_within(len);
    memcpy(area + COMPONENTS, &components, sizeof components);
    return call(PTRACE_SETREGSET, process, (void *)XSTATE, &whole);
}

/* In place of the C library's. */
long ptrace(enum __ptrace_request request, ...) {
    va_list more;
    va_start(more, request);
    long process = va_arg(more, pid_t);
    void *address = va_arg(more, void *);
    void *data = va_arg(more, void *);
    va_end(more);
    if ((int)request == PTRACE_GETREGSET && address == (void *)XSTATE)
        return read_area(process, data);
    if ((int)request == PTRACE_SETREGSET && address == (void *)XSTATE)
        return write_area(process, data);
    /* The system call stores a word that the library's function returns. */
    if ((int)request == PTRACE_PEEKTEXT || (int)request == PTRACE_PEEKDATA || (int)request == PTRACE_PEEKUSER) {
        long word = 0;
        if (call(request, process, address, &word) < 0)
            return -1;
        errno = 0;
        return word;
    }
    return call(request, process, address, data);
}
