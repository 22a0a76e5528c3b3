#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct machine machine;

const char *layout_path(void)
{
	const char *path = getenv("NUMALET_FAKE_NVML");
	return path ? path : "/etc/fakenvml/layout";
}

const char *events_path(void)
{
	static char path[4096];
	snprintf(path, sizeof path, "%s.events", layout_path());
	return path;
}

int place(const gpu *g) { return (int)(g - machine.gpus); }

gpu *find(const char *uuid)
{
	for (int i = 0; i < machine.ngpus; i++)
		if (!strcmp(machine.gpus[i].uuid, uuid))
			return &machine.gpus[i];
	for (int i = 0; i < machine.nslices; i++)
		if (!strcmp(machine.slices[i].uuid, uuid))
			return &machine.slices[i];
	return NULL;
}

static nvmlGpuTopologyLevel_t level(const char *name)
{
	static const struct { const char *name; nvmlGpuTopologyLevel_t level; } levels[] = {
		{"INT", NVML_TOPOLOGY_INTERNAL}, {"PIX", NVML_TOPOLOGY_SINGLE}, {"PXB", NVML_TOPOLOGY_MULTIPLE},
		{"PHB", NVML_TOPOLOGY_HOSTBRIDGE}, {"NODE", NVML_TOPOLOGY_NODE},
	};
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
		if (!strcmp(levels[i].name, name))
			return levels[i].level;
	return NVML_TOPOLOGY_SYSTEM;
}

static int read_gpu(const char *line)
{
	gpu *c = &machine.gpus[machine.ngpus];
	if (machine.ngpus == MAX_GPUS ||
	    sscanf(line, "gpu %95s %31s %d %llu %95[^\n]", c->uuid, c->bus, &c->numa, &c->memory, c->name) != 5)
		return 0;
	c->gi = c->ci = NO_INSTANCE;
	machine.ngpus++;
	return 1;
}

static int read_slice(const char *line)
{
	gpu *s = &machine.slices[machine.nslices];
	int parent;
	char profile[32];
	if (machine.nslices == MAX_SLICES ||
	    sscanf(line, "slice %d %u %u %95s %llu %31s", &parent, &s->gi, &s->ci, s->uuid, &s->memory, profile) != 6 ||
	    parent < 0 || parent >= machine.ngpus)
		return 0;
	s->parent = &machine.gpus[parent];
	strcat(strcat(strcpy(s->name, s->parent->name), " MIG "), profile); /* 95 + 5 + 31 bytes of 160 */
	machine.nslices++;
	return 1;
}

static int read_pair(const char *line)
{
	int a, b, n;
	char name[8];
	int links = sscanf(line, "nvlink %d %d %d", &a, &b, &n) == 3;
	if (!links && sscanf(line, "level %d %d %7s", &a, &b, name) != 3)
		return 0;
	if (a < 0 || b < 0 || a >= machine.ngpus || b >= machine.ngpus)
		return 0;
	if (links)
		machine.nvlinks[a][b] = machine.nvlinks[b][a] = n;
	else
		machine.level[a][b] = machine.level[b][a] = level(name);
	return 1;
}

static int read_mark(const char *line)
{
	int parent, n;
	if (sscanf(line, "mig %d", &parent) == 1 && parent >= 0 && parent < machine.ngpus)
		return machine.gpus[parent].mig = 1;
	if (sscanf(line, "switch %d %d", &parent, &n) == 2 && parent >= 0 && parent < machine.ngpus) {
		machine.switched[parent] = n;
		return 1;
	}
	return 0;
}

static int read_line(const char *line)
{
	return line[strspn(line, " \t\n")] == 0 || *line == '#' ||
	       sscanf(line, "driver %79s", machine.driver) == 1 || sscanf(line, "cuda %d", &machine.cuda) == 1 ||
	       read_gpu(line) || read_slice(line) || read_pair(line) || read_mark(line);
}

nvmlReturn_t layout_read(void)
{
	char line[512];
	FILE *f = fopen(layout_path(), "r");
	if (!f)
		return NVML_ERROR_DRIVER_NOT_LOADED;
	memset(&machine, 0, sizeof machine);
	for (int i = 0; i < MAX_GPUS; i++)
		for (int j = 0; j < MAX_GPUS; j++)
			machine.level[i][j] = NVML_TOPOLOGY_SYSTEM;
	int good = 1;
	while (good && fgets(line, sizeof line, f))
		if (!(good = read_line(line)))
			fprintf(stderr, "fake NVML: %s: cannot read: %s", layout_path(), line);
	fclose(f);
	return good ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}
