/* Preloaded: makes the n-th call of one kind fail, as a full disk or a machine without memory would.
 *
 * FAIL_CALL:   write, sync, sync of a folder, rename, allocation, thread, syncfs; clock: the time of day
 *              is set a day ahead and back at every n-th look
 * FAIL_NUMBER: n, from 1
 * FAIL_LASTS:  also every later call fails
 * FAIL_MARK:   a file made when a call has failed: without it there were fewer calls than n
 *
 * Writes count to regular files and to standard output, where results go. Messages go through. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static const char *chosen, *mark;
static long number, seen;
static int lasts, ready;

/* syncfs comes as a system call of its own, once a sweep: the kernel answers. */
static void fail_syncfs(void) {
    struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_syncfs, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = sizeof lines / sizeof *lines, .filter = lines };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(99);
}

static void leave_mark(void) {
    int fd = syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_WRONLY, 0600);
    if (fd >= 0)
        syscall(SYS_close, fd);
}

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("FAIL_NUMBER");
    chosen = getenv("FAIL_CALL");
    mark = getenv("FAIL_MARK");
    lasts = getenv("FAIL_LASTS") != NULL;
    number = text ? atol(text) : 0;
    if (!chosen || !mark)
        return;
    if (!strcmp(chosen, "syncfs")) {
        fail_syncfs();
        leave_mark();
    }
    ready = 1;
}

static int fails(const char *call, int error) {
    if (!ready || strcmp(call, chosen))
        return 0;
    long n = __atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
    if (n < number || (n > number && !lasts))
        return 0;
    leave_mark();
    errno = error;
    return 1;
}

static int counts(int fd) {
    struct stat file;
    struct statfs system;
    if (fd <= 2)
        return fd == 1;
    /* What /proc has is no file of anybody. */
    return !fstat(fd, &file) && S_ISREG(file.st_mode) && !fstatfs(fd, &system) && system.f_type != PROC_SUPER_MAGIC;
}

ssize_t write(int fd, const void *bytes, size_t len) {
    if (ready && counts(fd) && fails("write", ENOSPC))
        return -1;
    return syscall(SYS_write, fd, bytes, len);
}

ssize_t writev(int fd, const struct iovec *parts, int len) {
    if (ready && counts(fd) && fails("write", ENOSPC))
        return -1;
    return syscall(SYS_writev, fd, parts, len);
}

static int is_folder(int fd) {
    struct stat file;
    return !fstat(fd, &file) && S_ISDIR(file.st_mode);
}

int fsync(int fd) {
    /* As on a file system that cannot sync a folder. */
    if (is_folder(fd) && fails("sync of a folder", EINVAL))
        return -1;
    return fails("sync", EIO) ? -1 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
    return fails("sync", EIO) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int rename(const char *from, const char *to) {
    return fails("rename", EIO) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    if (!ready || clock != CLOCK_REALTIME || strcmp("clock", chosen))
        return result;
    long n = __atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
    if (n == number)
        leave_mark();
    time->tv_sec += n / number % 2 ? 86400 : -86400;
    return result;
}

void *malloc(size_t len) {
    return fails("allocation", ENOMEM) ? NULL : __libc_malloc(len);
}

void *calloc(size_t each, size_t len) {
    return fails("allocation", ENOMEM) ? NULL : __libc_calloc(each, len);
}

void *realloc(void *memory, size_t len) {
    return fails("allocation", ENOMEM) ? NULL : __libc_realloc(memory, len);
}

int posix_memalign(void **memory, size_t alignment, size_t len) {
    if (fails("allocation", ENOMEM))
        return ENOMEM;
    *memory = __libc_memalign(alignment, len);
    return *memory ? 0 : ENOMEM;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *with) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (fails("thread", EAGAIN))
        return EAGAIN;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, how, run, with);
}
