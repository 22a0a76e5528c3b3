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

int place(const gpu *card) { return (int)(card - machine.cards); }

gpu *find(const char *uuid)
{
	for (int i = 0; i < machine.ncards; i++)
		if (!strcmp(machine.cards[i].uuid, uuid))
			return &machine.cards[i];
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

static int read_card(const char *line)
{
	gpu *c = &machine.cards[machine.ncards];
	if (machine.ncards == MAX_CARDS ||
	    sscanf(line, "card %95s %31s %d %llu %95[^\n]", c->uuid, c->bus, &c->numa, &c->memory, c->name) != 5)
		return 0;
	c->gi = c->ci = NO_INSTANCE;
	machine.ncards++;
	return 1;
}

static int read_slice(const char *line)
{
	gpu *s = &machine.slices[machine.nslices];
	int card;
	char profile[32];
	if (machine.nslices == MAX_SLICES ||
	    sscanf(line, "slice %d %u %u %95s %llu %31s", &card, &s->gi, &s->ci, s->uuid, &s->memory, profile) != 6 ||
	    card < 0 || card >= machine.ncards)
		return 0;
	s->card = &machine.cards[card];
	strcat(strcat(strcpy(s->name, s->card->name), " MIG "), profile); /* 95 + 5 + 31 bytes of 160 */
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
	if (a < 0 || b < 0 || a >= machine.ncards || b >= machine.ncards)
		return 0;
	if (links)
		machine.nvlinks[a][b] = machine.nvlinks[b][a] = n;
	else
		machine.level[a][b] = machine.level[b][a] = level(name);
	return 1;
}

static int read_mark(const char *line)
{
	int card, n;
	if (sscanf(line, "mig %d", &card) == 1 && card >= 0 && card < machine.ncards)
		return machine.cards[card].mig = 1;
	if (sscanf(line, "switch %d %d", &card, &n) == 2 && card >= 0 && card < machine.ncards) {
		machine.switched[card] = n;
		return 1;
	}
	return 0;
}

static int read_line(const char *line)
{
	return line[strspn(line, " \t\n")] == 0 || *line == '#' ||
	       sscanf(line, "driver %79s", machine.driver) == 1 || sscanf(line, "cuda %d", &machine.cuda) == 1 ||
	       read_card(line) || read_slice(line) || read_pair(line) || read_mark(line);
}

nvmlReturn_t layout_read(void)
{
	char line[512];
	FILE *f = fopen(layout_path(), "r");
	if (!f)
		return NVML_ERROR_DRIVER_NOT_LOADED;
	memset(&machine, 0, sizeof machine);
	for (int i = 0; i < MAX_CARDS; i++)
		for (int j = 0; j < MAX_CARDS; j++)
			machine.level[i][j] = NVML_TOPOLOGY_SYSTEM;
	int good = 1;
	while (good && fgets(line, sizeof line, f))
		if (!(good = read_line(line)))
			fprintf(stderr, "fake NVML: %s: cannot read: %s", layout_path(), line);
	fclose(f);
	return good ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}
