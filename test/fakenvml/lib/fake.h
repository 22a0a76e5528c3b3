/* A fake of NVIDIA's management library, for tests: no GPU is behind it. */
#ifndef FAKENVML_H
#define FAKENVML_H

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include "nvml.h"

#define MAX_CARDS 16
#define MAX_SLICES 64
#define NO_INSTANCE 0xFFFFFFFFu

/* A card, or a MIG slice of one: go-nvml's nvmlDevice_t is a struct of one pointer to it. */
typedef struct nvmlDevice_st gpu;
struct nvmlDevice_st {
	char uuid[96], name[160], bus[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
	unsigned long long memory; /* 0: not supported */
	int numa; /* -1: not told */
	int mig, lost, action;
	int deaf; /* its events cannot be registered */
	unsigned long long ecc;
	gpu *card; /* of a slice; NULL for a card */
	unsigned int gi, ci;
};

struct machine {
	char driver[80];
	int cuda;
	gpu cards[MAX_CARDS], slices[MAX_SLICES];
	int ncards, nslices;
	int nvlinks[MAX_CARDS][MAX_CARDS]; /* between two cards */
	int switched[MAX_CARDS];           /* to a switch */
	nvmlGpuTopologyLevel_t level[MAX_CARDS][MAX_CARDS];
};

extern struct machine machine;

/* The layout's path, and that of the file of events beside it. */
const char *layout_path(void);
const char *events_path(void);

/* Reads the layout. What is not understood is NVML_ERROR_UNKNOWN, and said on stderr. */
nvmlReturn_t layout_read(void);

/* Brings lost, ecc and action of all cards up to the file of events. */
void events_replay(void);

/* The card's place in the machine. */
int place(const gpu *card);

gpu *find(const char *uuid);

/* A card that may be asked: SUCCESS, or why not. */
nvmlReturn_t answers(nvmlDevice_t device);

#endif
