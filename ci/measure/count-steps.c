/* Counts the instructions that a program's first thread executes, one single step each: unlike callgrind's, those of
 * the real processor, with its own for SHA-256. A preview takes some 30 minutes.
 *
 *   cc -O2 -o count-steps ci/measure/count-steps.c
 *   ./count-steps imagegen build --target azure --k8s 1.36.4 --no-bake --out DIR
 */
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
    if (count < 2) {
        fputs("usage: count-steps PROGRAM [ARGUMENT…]\n", stderr);
        return 2;
    }
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execvp(arguments[1], arguments + 1);
        perror(arguments[1]);
        _exit(127);
    }

    int status;
    long steps = 0;
    long signal_to_pass = 0;
    waitpid(child, &status, 0);
    while (WIFSTOPPED(status)) {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, signal_to_pass) != 0) break;
        if (waitpid(child, &status, 0) < 0) break;
        signal_to_pass = 0;
        if (!WIFSTOPPED(status)) break;
        if (WSTOPSIG(status) == SIGTRAP) {
            steps++;
        } else {
            signal_to_pass = WSTOPSIG(status);
        }
    }
    printf("%ld instructions\n", steps);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
