#include "fake.h"

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
	nvmlReturn_t r = answers(device);
	*current = *pending = r ? 0 : device.handle->mig;
	return r;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count)
{
	nvmlReturn_t r = answers(device);
	*count = r || !device.handle->mig ? 0 : 7;
	return r;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *slice)
{
	nvmlReturn_t r = answers(device);
	if (r)
		return r;
	for (int i = 0; i < machine.nslices; i++)
		if (machine.slices[i].parent == device.handle && index-- == 0) {
			slice->handle = &machine.slices[i];
			return NVML_SUCCESS;
		}
	return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id)
{
	*id = device.handle->gi;
	return device.handle->parent ? answers(device) : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id)
{
	*id = device.handle->ci;
	return device.handle->parent ? answers(device) : NVML_ERROR_NOT_SUPPORTED;
}
