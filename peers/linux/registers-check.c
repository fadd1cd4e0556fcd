/* Reads the registers of a process into a buffer as short as that of user-mode-linux 6.1, and writes
 * it back. Without registers.c a processor with more registers refuses the second step. */
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    static unsigned char buffer[832];
    pid_t process = fork();
    if (process == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(7);
    }
    int status = 0;
    waitpid(process, &status, 0);
    struct iovec registers = { buffer, sizeof buffer };
    if (ptrace(PTRACE_GETREGSET, process, (void *)0x202, &registers) || ptrace(PTRACE_SETREGSET, process, (void *)0x202, &registers)) {
        perror("registers of a process, through a short buffer");
        kill(process, SIGKILL);
        return 1;
    }
    ptrace(PTRACE_CONT, process, NULL, NULL);
    waitpid(process, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : 1;
}
