#include "fake.h"

#include <stdio.h>
#include <string.h>

nvmlReturn_t answers(nvmlDevice_t device)
{
	events_replay();
	if (!device.handle)
		return NVML_ERROR_INVALID_ARGUMENT;
	return (device.handle->parent ? device.handle->parent : device.handle)->lost ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}

static nvmlReturn_t copy(char *to, unsigned int length, const char *from)
{
	if (strlen(from) >= length)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(to, from);
	return NVML_SUCCESS;
}

/* How many calls of nvmlInit had no matching nvmlShutdown yet. NVML counts this, too. If it is 0, nvmlInit reads the
 * layout. */
static int started;

nvmlReturn_t nvmlInit_v2(void)
{
	nvmlReturn_t r = started ? NVML_SUCCESS : layout_read();
	started += !r;
	return r;
}

nvmlReturn_t nvmlShutdown(void)
{
	started -= started > 0;
	return NVML_SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
	switch (result) {
	case NVML_SUCCESS: return "Success";
	case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
	case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
	case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
	case NVML_ERROR_NOT_FOUND: return "Not Found";
	case NVML_ERROR_TIMEOUT: return "Timeout";
	default: return "fake NVML: error";
	}
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	return copy(version, length, machine.driver);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
	*version = machine.cuda;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
	*count = machine.ngpus;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	if (index >= (unsigned)machine.ngpus)
		return NVML_ERROR_INVALID_ARGUMENT;
	device->handle = &machine.gpus[index];
	return answers(*device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	device->handle = find(uuid);
	return device->handle ? answers(*device) : NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	nvmlReturn_t r = answers(device);
	return r ? r : copy(uuid, length, device.handle->uuid);
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
	nvmlReturn_t r = answers(device);
	if (r)
		return r;
	*index = device.handle->parent ? 0 : place(device.handle);
	for (const gpu *s = machine.slices; device.handle->parent && s < device.handle; s++)
		*index += s->parent == device.handle->parent;
	return r;
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *number)
{
	return device.handle && device.handle->parent ? NVML_ERROR_INVALID_ARGUMENT : nvmlDeviceGetIndex(device, number);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	nvmlReturn_t r = answers(device);
	return r ? r : copy(name, length, device.handle->name);
}

/* NVIDIA's device plugin asks for the compute capability. All fake GPUs are of the generation of the H100. */
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
	*major = 9;
	*minor = 0;
	return answers(device);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	nvmlReturn_t r = answers(device);
	if (!r && !device.handle->memory)
		return NVML_ERROR_NOT_SUPPORTED;
	if (!r)
		*memory = (nvmlMemory_t){.total = device.handle->memory, .free = device.handle->memory};
	return r;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	nvmlReturn_t r = answers(device);
	memset(pci, 0, sizeof *pci);
	return r ? r : copy(pci->busId, sizeof pci->busId, device.handle->bus);
}

nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int size, unsigned long *nodes, nvmlAffinityScope_t scope)
{
	nvmlReturn_t r = answers(device);
	(void)scope;
	if (r)
		return r;
	if (device.handle->numa < 0)
		return NVML_ERROR_NOT_SUPPORTED;
	memset(nodes, 0, size * sizeof *nodes);
	if ((unsigned)device.handle->numa / 64 < size)
		nodes[device.handle->numa / 64] = 1ul << device.handle->numa % 64;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter, unsigned long long *count)
{
	nvmlReturn_t r = answers(device);
	if (!r)
		*count = type == NVML_MEMORY_ERROR_TYPE_UNCORRECTED && counter == NVML_VOLATILE_ECC ? device.handle->ecc : 0;
	return r;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
	nvmlReturn_t r = answers(device);
	for (int i = 0; !r && i < count; i++) {
		values[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
		if (values[i].fieldId == NVML_FI_DEV_GET_GPU_RECOVERY_ACTION && device.handle->action >= 0) {
			values[i].nvmlReturn = NVML_SUCCESS;
			values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
			values[i].value.uiVal = device.handle->action;
		}
	}
	return r;
}
