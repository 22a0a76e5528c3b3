/* GPU instances and compute instances of MIG slices. The handle of an instance points to a slice. For a GPU
 * instance this is its first slice. */
#include "fake.h"

#include <string.h>

/* sizes[i] is the number of slices of NVML_GPU_INSTANCE_PROFILE_… and NVML_COMPUTE_INSTANCE_PROFILE_… with the
 * value i. The name of a profile starts with this number: 3g.40gb has 3 slices. */
static const char sizes[] = "12347";

static unsigned int profile(const gpu *slice)
{
	const char *size = strchr(sizes, strstr(slice->name, " MIG ")[5]);
	return size ? (unsigned int)(size - sizes) : 0;
}

static gpu *slice_of(const gpu *parent, unsigned int gi, const unsigned int *ci)
{
	for (int i = 0; i < machine.nslices; i++) {
		gpu *s = &machine.slices[i];
		if (s->parent == parent && s->gi == gi && (!ci || s->ci == *ci))
			return s;
	}
	return NULL;
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *is)
{
	*is = device.handle && device.handle->parent;
	return answers(device);
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t slice, nvmlDevice_t *parent)
{
	nvmlReturn_t r = answers(slice);
	if (!r)
		parent->handle = slice.handle->parent;
	return r || parent->handle ? r : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t slice, nvmlDeviceAttributes_t *attributes)
{
	nvmlReturn_t r = answers(slice);
	if (!r)
		*attributes = (nvmlDeviceAttributes_t){.memorySizeMB = slice.handle->memory >> 20};
	return r;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t parent, unsigned int id, nvmlGpuInstance_t *instance)
{
	instance->handle = (void *)slice_of(parent.handle, id, NULL);
	return instance->handle ? answers(parent) : NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t *info)
{
	gpu *s = (void *)instance.handle;
	*info = (nvmlGpuInstanceInfo_t){.device.handle = s->parent, .id = s->gi, .profileId = profile(s)};
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t parent, unsigned int number, nvmlGpuInstanceProfileInfo_t *info)
{
	if (number >= sizeof sizes - 1)
		return NVML_ERROR_NOT_SUPPORTED;
	*info = (nvmlGpuInstanceProfileInfo_t){.id = number};
	return answers(parent);
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t instance, unsigned int id, nvmlComputeInstance_t *compute)
{
	gpu *s = (void *)instance.handle;
	compute->handle = (void *)slice_of(s->parent, s->gi, &id);
	return compute->handle ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t instance, nvmlComputeInstanceInfo_t *info)
{
	gpu *s = (void *)instance.handle;
	*info = (nvmlComputeInstanceInfo_t){.device.handle = s->parent, .id = s->ci, .profileId = profile(s)};
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t instance, unsigned int number, unsigned int engine,
                                                          nvmlComputeInstanceProfileInfo_t *info)
{
	(void)instance;
	if (number >= sizeof sizes - 1 || engine)
		return NVML_ERROR_NOT_SUPPORTED;
	*info = (nvmlComputeInstanceProfileInfo_t){.id = number};
	return NVML_SUCCESS;
}
