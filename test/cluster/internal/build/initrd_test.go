package build

import (
	"slices"
	"testing"
)

const (
	modulesDep = `kernel/drivers/virtio/virtio_pci.ko: kernel/drivers/virtio/virtio_pci_modern_dev.ko kernel/drivers/virtio/virtio_ring.ko kernel/drivers/virtio/virtio.ko
kernel/drivers/char/hw_random/virtio-rng.ko.xz: kernel/drivers/virtio/virtio_ring.ko kernel/drivers/virtio/virtio.ko
kernel/fs/overlayfs/overlay.ko:
`
	modulesBuiltin = `kernel/fs/autofs/autofs4.ko
kernel/drivers/block/virtio_blk.ko
`
)

func TestDependencies(t *testing.T) {
	for module, want := range map[string][]string{
		"overlay": {"kernel/fs/overlayfs/overlay.ko"},
		"virtio_rng": {"kernel/drivers/virtio/virtio.ko", "kernel/drivers/virtio/virtio_ring.ko",
			"kernel/drivers/char/hw_random/virtio-rng.ko.xz"},
		"virtio_blk": nil,
	} {
		if got, err := dependencies(modulesDep, modulesBuiltin, module); err != nil || !slices.Equal(got, want) {
			t.Errorf("dependencies of %s = %q, %v; want %q", module, got, err, want)
		}
	}
	if _, err := dependencies(modulesDep, modulesBuiltin, "absent"); err == nil {
		t.Error("dependencies of an absent module: no error")
	}
}
