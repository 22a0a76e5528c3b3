#include "fake.h"

#include <string.h>

/* Sets *other to the GPU at the other end of a GPU's link, or to NULL for a link to a switch. The links of a GPU are
 * numbered in the order of the other GPUs; those to the switch come last. */
static nvmlReturn_t remote(const gpu *g, unsigned int link, gpu **other)
{
	unsigned int passed = 0;
	*other = NULL;
	for (int i = 0; i < machine.ngpus; i++)
		if (link < (passed += machine.nvlinks[place(g)][i])) {
			*other = &machine.gpus[i];
			return NVML_SUCCESS;
		}
	return link < passed + machine.switched[place(g)] ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, nvmlEnableState_t *active)
{
	gpu *other;
	nvmlReturn_t r = answers(device);
	if (!r && !(r = remote(device.handle, link, &other)))
		*active = NVML_FEATURE_ENABLED;
	return r;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link, nvmlIntNvLinkDeviceType_t *type)
{
	gpu *other;
	nvmlReturn_t r = answers(device);
	if (!r && !(r = remote(device.handle, link, &other)))
		*type = other ? NVML_NVLINK_DEVICE_TYPE_GPU : NVML_NVLINK_DEVICE_TYPE_SWITCH;
	return r;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci)
{
	gpu *other;
	nvmlReturn_t r = answers(device);
	memset(pci, 0, sizeof *pci);
	if (!r && !(r = remote(device.handle, link, &other)))
		strcpy(pci->busId, other ? other->bus : "00000000:FF:00.0");
	return r;
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b, nvmlGpuTopologyLevel_t *level)
{
	nvmlReturn_t r = answers(a) ? answers(a) : answers(b);
	if (!r)
		*level = machine.level[place(a.handle)][place(b.handle)];
	return r;
}
