package build

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/numalet/numalet/test/cluster/internal/artefact"
	"github.com/numalet/numalet/test/cluster/internal/machine"
)

// kernelPackage is the Debian package that depends on the newest kernel for virtual machines.
const kernelPackage = "linux-image-cloud-amd64"

// kernelModules are the kernel modules that are loaded before the root file system is mounted. ext4
// and cgroups need no module, because they are part of the kernel image.
const kernelModules = "virtio_pci virtio_blk virtio_net virtio_rng overlay veth bridge autofs4"

//go:embed init.sh
var initScript []byte

// kernel returns the recipe for vmlinuz and an initrd. The initrd loads the modules and starts the
// system on the disk. On the first boot it copies the machine's own files (package seed) to the
// disk.
func (b Builder) kernel(f machine.Flavour) artefact.Recipe {
	r := artefact.Recipe{
		Name:   "kernel",
		Inputs: []string{kernelPackage, kernelModules, string(initScript)},
		Make: func(out string) error {
			tree := filepath.Join(out, "tree")
			defer os.RemoveAll(tree)
			release, err := b.unpackKernel(f.Backports, tree)
			if err != nil {
				return err
			}
			if err := os.Rename(filepath.Join(tree, "boot/vmlinuz-"+release), filepath.Join(out, "vmlinuz")); err != nil {
				return err
			}
			return writeInitrd(filepath.Join(out, "initrd"), filepath.Join(tree, "lib/modules", release))
		},
	}
	if f.Backports {
		r.Name += "-backports"
	}
	return r
}

// unpackKernel downloads the newest kernel and unpacks it into the directory given as `tree`. Then
// tree/boot/vmlinuz-RELEASE is the kernel, and tree/lib/modules/RELEASE has its modules.
func (b Builder) unpackKernel(backports bool, tree string) (release string, err error) {
	d, err := b.openDebs(backports)
	if err != nil {
		return "", err
	}
	defer d.close()
	name, err := d.dependency(kernelPackage)
	if err != nil {
		return "", err
	}
	if err := b.unpack(d, tree, name); err != nil {
		return "", err
	}
	images, err := filepath.Glob(filepath.Join(tree, "boot/vmlinuz-*"))
	if err != nil {
		return "", err
	}
	if len(images) != 1 {
		return "", fmt.Errorf("find the kernel in %s: %d images", name, len(images))
	}
	release = strings.TrimPrefix(filepath.Base(images[0]), "vmlinuz-")
	return release, b.run(tool{}, "depmod", "-b", tree, release)
}
