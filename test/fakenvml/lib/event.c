#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Each line of the file of events is about one GPU and has one of these forms:
 *
 *   xid UUID NUMBER [GI [CI]]   doublebit UUID   unavailable UUID
 *   lost UUID   found UUID   ecc UUID COUNT   action UUID NUMBER
 *   deaf UUID   hears UUID
 *
 * xid, doublebit and unavailable are NVML events. An event set reports them if it was created before
 * the line was written. The other lines set the state of the GPU from then on: after "lost", calls for
 * the GPU return NVML_ERROR_GPU_IS_LOST, and after "deaf", its events cannot be registered. "found" and
 * "hears" undo this. "ecc" sets the number of uncorrected memory errors, and "action" sets the recovery
 * action. */

struct nvmlEventSet_st {
	long seen; /* bytes of the file whose events were reported */
	unsigned long long wanted[MAX_GPUS];
};

static void mark(const char *line)
{
	char uuid[96];
	long long n = 0;
	char verb[16];
	if (sscanf(line, "%15s %95s %lld", verb, uuid, &n) < 2)
		return;
	gpu *g = find(uuid);
	if (!g)
		return;
	if (!strcmp(verb, "lost"))
		g->lost = 1;
	else if (!strcmp(verb, "found"))
		g->lost = 0;
	else if (!strcmp(verb, "deaf"))
		g->deaf = 1;
	else if (!strcmp(verb, "hears"))
		g->deaf = 0;
	else if (!strcmp(verb, "ecc"))
		g->ecc = (unsigned long long)n;
	else if (!strcmp(verb, "action"))
		g->action = (int)n;
}

void events_replay(void)
{
	char line[256];
	for (int i = 0; i < machine.ngpus; i++)
		machine.gpus[i].lost = machine.gpus[i].deaf = machine.gpus[i].action = 0, machine.gpus[i].ecc = 0;
	FILE *f = fopen(events_path(), "r");
	if (!f)
		return;
	while (fgets(line, sizeof line, f))
		mark(line);
	fclose(f);
}

static int parse(const char *line, nvmlEventData_t *data)
{
	char verb[16], uuid[96];
	unsigned long long number = 0;
	data->gpuInstanceId = data->computeInstanceId = NO_INSTANCE;
	if (sscanf(line, "%15s %95s %llu %u %u", verb, uuid, &number, &data->gpuInstanceId, &data->computeInstanceId) < 2)
		return 0;
	data->device.handle = find(uuid);
	data->eventData = 0;
	if (!strcmp(verb, "xid")) {
		data->eventType = nvmlEventTypeXidCriticalError;
		data->eventData = number;
	} else if (!strcmp(verb, "doublebit")) {
		data->eventType = nvmlEventTypeDoubleBitEccError;
	} else if (!strcmp(verb, "unavailable")) {
		data->eventType = nvmlEventTypeGpuUnavailableError;
	} else {
		return 0;
	}
	return data->device.handle && !data->device.handle->parent;
}

/* Reports the next event in the file for which the set was registered. It reads only complete lines. */
static int next(nvmlEventSet_t set, nvmlEventData_t *data)
{
	char line[256];
	int found = 0;
	FILE *f = fopen(events_path(), "r");
	if (!f)
		return 0;
	fseek(f, set.handle->seen, SEEK_SET);
	while (!found && fgets(line, sizeof line, f) && strchr(line, '\n')) {
		set.handle->seen = ftell(f);
		found = parse(line, data) && (set.handle->wanted[place(data->device.handle)] & data->eventType);
	}
	fclose(f);
	return found;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
	set->handle = calloc(1, sizeof *set->handle);
	FILE *f = fopen(events_path(), "r");
	if (f) {
		fseek(f, 0, SEEK_END);
		set->handle->seen = ftell(f);
		fclose(f);
	}
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
	free(set.handle);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *types)
{
	*types = nvmlEventTypeXidCriticalError | nvmlEventTypeDoubleBitEccError | nvmlEventTypeGpuUnavailableError;
	return answers(device);
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set)
{
	nvmlReturn_t r = answers(device);
	if (!r && device.handle->deaf)
		return NVML_ERROR_UNKNOWN;
	if (!r)
		set.handle->wanted[place(device.handle)] |= types;
	return r;
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout)
{
	const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
	for (unsigned int waited = 0;; waited += 10) {
		if (next(set, data))
			return NVML_SUCCESS;
		if (waited >= timeout)
			return NVML_ERROR_TIMEOUT;
		nanosleep(&pause, NULL);
	}
}
