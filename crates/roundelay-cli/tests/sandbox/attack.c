/* What a script in the sandbox of `import --run` must not be able to do, where it takes calls of the
 * system. It says a word when it succeeds; with `plant`, it is the caller whose key the script wants. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PIECE (200u << 20)
#define KEY "roundelay-test"

static void *take(void *unused)
{
    char *piece = mmap(0, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)unused;
    if (piece != MAP_FAILED)
        memset(piece, 1, PIECE);
    sleep(8);
    return 0;
}

/* Processes whose first thread has ended, which seem to have no memory. */
static void without_leader(void)
{
    for (int i = 0; i < 5; i++) {
        if (fork() == 0) {
            pthread_t thread;
            pthread_create(&thread, 0, take, 0);
            syscall(SYS_exit, 0);
        }
    }
    sleep(9);
}

int main(int count, char **words)
{
    const char *way = count > 1 ? words[1] : "";
    int ends[2];
    if (!strcmp(way, "plant") && count > 2) {
        syscall(SYS_keyctl, 1, 0);
        syscall(SYS_add_key, "user", KEY, "s3cret", 6, -3);
        execvp(words[2], words + 2);
        return 1;
    }
    if (!strcmp(way, "leader"))
        without_leader();
    if (!strcmp(way, "key") && syscall(SYS_keyctl, 10, -3, "user", KEY, 0) >= 0)
        puts("KEY");
    if (!strcmp(way, "shared") && shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600) >= 0)
        puts("SHARED-MEMORY");
    if (!strcmp(way, "message") && msgget(IPC_PRIVATE, IPC_CREAT | 0600) >= 0)
        puts("MESSAGE");
    if (!strcmp(way, "file") && memfd_create("file", 0) >= 0)
        puts("FILE-OF-NOBODY");
    if (!strcmp(way, "socket") && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0)
        puts("SOCKET");
    if (!strcmp(way, "trace") && ptrace(PTRACE_TRACEME, 0, 0, 0) == 0)
        puts("TRACE");
    return 0;
}
