/* A fake of NVIDIA's management library, for tests: no GPU is behind it. */
#ifndef FAKENVML_H
#define FAKENVML_H

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include "nvml.h"

#define MAX_GPUS 16
#define MAX_SLICES 64
#define NO_INSTANCE 0xFFFFFFFFu

/* A GPU, or a MIG slice of one: go-nvml's nvmlDevice_t is a struct of one pointer to it. */
typedef struct nvmlDevice_st gpu;
struct nvmlDevice_st {
	char uuid[96], name[160], bus[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
	unsigned long long memory; /* 0: not supported */
	int numa; /* -1: not told */
	int mig, lost, action;
	int deaf; /* its events cannot be registered */
	unsigned long long ecc;
	gpu *parent; /* of a slice; NULL for a GPU */
	unsigned int gi, ci;
};

struct machine {
	char driver[80];
	int cuda;
	gpu gpus[MAX_GPUS], slices[MAX_SLICES];
	int ngpus, nslices;
	int nvlinks[MAX_GPUS][MAX_GPUS]; /* between two GPUs */
	int switched[MAX_GPUS];           /* to a switch */
	nvmlGpuTopologyLevel_t level[MAX_GPUS][MAX_GPUS];
};

extern struct machine machine;

/* The layout's path, and that of the file of events beside it. */
const char *layout_path(void);
const char *events_path(void);

/* Reads the layout. What is not understood is NVML_ERROR_UNKNOWN, and said on stderr. */
nvmlReturn_t layout_read(void);

/* Brings lost, ecc and action of all GPUs up to the file of events. */
void events_replay(void);

/* The GPU's place in the machine. */
int place(const gpu *g);

gpu *find(const char *uuid);

/* A GPU that may be asked: SUCCESS, or why not. */
nvmlReturn_t answers(nvmlDevice_t device);

#endif
