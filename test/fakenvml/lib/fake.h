/* A fake of NVIDIA's management library (NVML) for tests. It reports the GPUs that a layout file describes. */
#ifndef FAKENVML_H
#define FAKENVML_H

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include "nvml.h"

#define MAX_GPUS 16
#define MAX_SLICES 64
#define NO_INSTANCE 0xFFFFFFFFu

/* A GPU or a MIG slice of a GPU. nvmlDevice_t is a struct with a pointer to it. */
typedef struct nvmlDevice_st gpu;
struct nvmlDevice_st {
	char uuid[96], name[160], bus[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
	unsigned long long memory; /* bytes; 0: the query is not supported */
	int numa; /* NUMA node; -1: the query is not supported */
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
	int nvlinks[MAX_GPUS][MAX_GPUS]; /* number of NVLinks between two GPUs */
	int switched[MAX_GPUS];           /* number of NVLinks to a switch */
	nvmlGpuTopologyLevel_t level[MAX_GPUS][MAX_GPUS];
};

extern struct machine machine;

/* The paths of the layout file, and of the file of events in the same directory. */
const char *layout_path(void);
const char *events_path(void);

/* Reads the layout file. If it cannot parse a line, it prints the line to stderr and returns NVML_ERROR_UNKNOWN. */
nvmlReturn_t layout_read(void);

/* Sets the fields lost, deaf, ecc and action of all GPUs to what the file of events says now. */
void events_replay(void);

/* Returns the index of a GPU. */
int place(const gpu *g);

gpu *find(const char *uuid);

/* Returns NVML_SUCCESS if a GPU or slice can be queried, or otherwise the error that queries return. */
nvmlReturn_t answers(nvmlDevice_t device);

#endif
