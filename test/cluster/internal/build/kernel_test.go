package build

import (
	"slices"
	"testing"
)

const modulesDep = `kernel/drivers/virtio/virtio_pci.ko: kernel/drivers/virtio/virtio_pci_modern_dev.ko kernel/drivers/virtio/virtio_ring.ko kernel/drivers/virtio/virtio.ko
kernel/drivers/char/hw_random/virtio-rng.ko: kernel/drivers/virtio/virtio_ring.ko kernel/drivers/virtio/virtio.ko
kernel/fs/overlayfs/overlay.ko:
`

func TestDependencies(t *testing.T) {
	for module, want := range map[string][]string{
		"overlay": {"kernel/fs/overlayfs/overlay.ko"},
		"virtio_rng": {"kernel/drivers/virtio/virtio.ko", "kernel/drivers/virtio/virtio_ring.ko",
			"kernel/drivers/char/hw_random/virtio-rng.ko"},
	} {
		if got, err := dependencies(modulesDep, module); err != nil || !slices.Equal(got, want) {
			t.Errorf("dependencies of %s = %q, %v; want %q", module, got, err, want)
		}
	}
	if _, err := dependencies(modulesDep, "absent"); err == nil {
		t.Error("dependencies of an absent module: no error")
	}
}
