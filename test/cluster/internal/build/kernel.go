package build

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/numalet/numalet/test/cluster/internal/artefact"
	"github.com/numalet/numalet/test/cluster/internal/cpio"
)

// kernelPackage is the Debian package that depends on the newest kernel for virtual machines.
const kernelPackage = "linux-image-cloud-amd64"

// kernelModules are the kernel modules that are loaded before the root file system is mounted. ext4
// and cgroups are part of the kernel image.
const kernelModules = "virtio_pci virtio_blk virtio_net virtio_rng overlay veth bridge autofs4"

//go:embed init.sh
var initScript []byte

// kernel returns the recipe for vmlinuz and an initrd. The initrd loads the modules and starts the
// system on the disk. On the first boot it copies the machine's own files (package seed) to the
// disk.
func (b Builder) kernel() artefact.Recipe {
	return artefact.Recipe{
		Name:   "kernel",
		Inputs: []string{kernelPackage, kernelModules, string(initScript)},
		Make: func(out string) error {
			tree, err := b.unpackKernel(out)
			if err != nil {
				return err
			}
			defer os.RemoveAll(tree)
			modules, err := moduleFiles(tree)
			if err != nil {
				return err
			}
			return writeInitrd(filepath.Join(out, "initrd"), modules)
		},
	}
}

// unpackKernel downloads the kernel package and unpacks it. The kernel is then out/vmlinuz, and
// tree is the directory with its modules.
func (b Builder) unpackKernel(out string) (tree string, err error) {
	depends, err := exec.Command("apt-cache", "depends", "--important", kernelPackage).Output()
	if err != nil {
		return "", fmt.Errorf("ask apt for the kernel: %w", err)
	}
	_, name, _ := strings.Cut(string(depends), "Depends: ")
	name, _, _ = strings.Cut(name, "\n")
	tree = filepath.Join(out, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return "", err
	}
	if err := b.run(tool{Dir: tree}, "apt-get", "download", name); err != nil {
		return "", err
	}
	debs, _ := filepath.Glob(filepath.Join(tree, "*.deb"))
	if err := b.run(tool{Dir: tree}, "dpkg-deb", "-x", debs[0], "."); err != nil {
		return "", err
	}
	images, _ := filepath.Glob(filepath.Join(tree, "boot/vmlinuz-*"))
	if len(images) != 1 {
		return "", fmt.Errorf("find the kernel in %s: %d images", name, len(images))
	}
	release := strings.TrimPrefix(filepath.Base(images[0]), "vmlinuz-")
	if err := os.Rename(images[0], filepath.Join(out, "vmlinuz")); err != nil {
		return "", err
	}
	return tree, b.run(tool{}, "depmod", "-b", tree, release)
}

// moduleFiles returns the files of the modules in the order for insmod: each module comes after its
// dependencies. In modules.dep, the dependencies of a module are in the reverse order.
func moduleFiles(tree string) ([]string, error) {
	dirs, _ := filepath.Glob(filepath.Join(tree, "lib/modules/*"))
	index, err := os.ReadFile(filepath.Join(dirs[0], "modules.dep"))
	if err != nil {
		return nil, err
	}
	var files []string
	for _, want := range strings.Fields(kernelModules) {
		needs, err := dependencies(string(index), want)
		if err != nil {
			return nil, err
		}
		for _, n := range needs {
			if f := filepath.Join(dirs[0], n); !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
	}
	return files, nil
}

func dependencies(index, module string) ([]string, error) {
	for line := range strings.Lines(index) {
		file, needs, _ := strings.Cut(strings.TrimSpace(line), ":")
		if base := filepath.Base(file); strings.ReplaceAll(base, "-", "_") == module+".ko" {
			all := append([]string{file}, strings.Fields(needs)...)
			slices.Reverse(all)
			return all, nil
		}
	}
	return nil, fmt.Errorf("find kernel module %q: not in modules.dep", module)
}

func writeInitrd(file string, modules []string) error {
	var out bytes.Buffer
	w := cpio.NewWriter(&out)
	busybox, err := os.ReadFile("/bin/busybox")
	if err != nil {
		return err
	}
	w.File("bin/busybox", 0o755, busybox)
	w.Symlink("bin/sh", "busybox")
	w.File("init", 0o755, initScript)
	for n, m := range modules {
		body, err := os.ReadFile(m)
		if err != nil {
			return err
		}
		w.File(fmt.Sprintf("modules/%02d-%s", n, filepath.Base(m)), 0o644, body)
	}
	for _, d := range []string{"proc", "sys", "dev", "root"} {
		w.Dir(d)
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}
