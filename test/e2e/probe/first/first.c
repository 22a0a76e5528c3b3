// The program `first` records the CPUs with which its process started, and then executes its
// arguments. It is in C, because a C program asks the kernel within microseconds after exec. The Go
// runtime runs for milliseconds before main.
//
//   first FILE PROGRAM [ARG...]   appends "born <CLOCK_BOOTTIME ns> <cpu>,<cpu>…" to FILE
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
	cpu_set_t set;
	struct timespec now;
	int asked = sched_getaffinity(0, sizeof set, &set);
	int timed = clock_gettime(CLOCK_BOOTTIME, &now);
	if (asked || timed || argc < 3) {
		fprintf(stderr, "usage: first FILE PROGRAM [ARG...]\n");
		return 2;
	}
	char line[4096], *p = line;
	p += sprintf(p, "born %lld%09ld ", (long long)now.tv_sec, now.tv_nsec);
	const char *sep = "";
	for (int cpu = 0; cpu < 512; cpu++)
		if (CPU_ISSET(cpu, &set)) {
			p += sprintf(p, "%s%d", sep, cpu);
			sep = ",";
		}
	*p++ = '\n';
	int fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (fd < 0 || write(fd, line, p - line) != p - line) {
		perror(argv[1]);
		return 1;
	}
	close(fd);
	execv(argv[2], argv + 2);
	perror(argv[2]);
	return 1;
}
