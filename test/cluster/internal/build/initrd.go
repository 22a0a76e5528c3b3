package build

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/numalet/numalet/test/cluster/internal/cpio"
)

// writeInitrd writes an initrd with initScript, busybox, and the kernel modules. The argument
// `modules` is the directory lib/modules/RELEASE of the kernel.
func writeInitrd(file, modules string) error {
	var out bytes.Buffer
	w := cpio.NewWriter(&out)
	busybox, err := os.ReadFile("/bin/busybox")
	if err != nil {
		return err
	}
	w.File("bin/busybox", 0o755, busybox)
	w.Symlink("bin/sh", "busybox")
	w.File("init", 0o755, initScript)
	files, err := moduleFiles(modules)
	if err != nil {
		return err
	}
	for n, f := range files {
		body, err := readModule(filepath.Join(modules, f))
		if err != nil {
			return err
		}
		w.File(fmt.Sprintf("modules/%02d-%s.ko", n, moduleName(f)), 0o644, body)
	}
	for _, d := range []string{"proc", "sys", "dev", "root"} {
		w.Dir(d)
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// moduleFiles returns the files of the modules in kernelModules, relative to dir, in the order for
// insmod: each module comes after its dependencies.
func moduleFiles(dir string) ([]string, error) {
	index, err := os.ReadFile(filepath.Join(dir, "modules.dep"))
	if err != nil {
		return nil, err
	}
	builtin, err := os.ReadFile(filepath.Join(dir, "modules.builtin"))
	if err != nil {
		return nil, err
	}
	var files []string
	for _, want := range strings.Fields(kernelModules) {
		needs, err := dependencies(string(index), string(builtin), want)
		if err != nil {
			return nil, err
		}
		for _, n := range needs {
			if !slices.Contains(files, n) {
				files = append(files, n)
			}
		}
	}
	return files, nil
}

// dependencies returns the files of the modules that a module needs, in the order in which they
// must be loaded, and then the file of the module itself. The argument `index` is the content of
// modules.dep, which lists for each module the modules that it needs. They are in reverse order:
// the first one must be loaded last. The argument `builtin` is the content of modules.builtin. A
// module listed there is part of the kernel image, and has no file.
func dependencies(index, builtin, module string) ([]string, error) {
	for line := range strings.Lines(index) {
		file, needs, _ := strings.Cut(strings.TrimSpace(line), ":")
		if moduleName(file) == module {
			all := append([]string{file}, strings.Fields(needs)...)
			slices.Reverse(all)
			return all, nil
		}
	}
	for file := range strings.Lines(builtin) {
		if moduleName(strings.TrimSpace(file)) == module {
			return nil, nil
		}
	}
	return nil, fmt.Errorf("find kernel module %q: not in modules.dep and modules.builtin", module)
}

// moduleName returns the name of the module in a file, such as virtio_rng for virtio-rng.ko.xz.
func moduleName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// readModule returns the content of a module. Kernels since Debian 13 have compressed modules, which
// the insmod of busybox cannot load.
func readModule(file string) ([]byte, error) {
	if !strings.HasSuffix(file, ".xz") {
		return os.ReadFile(file)
	}
	body, err := exec.Command("xz", "--decompress", "--stdout", file).Output()
	if err != nil {
		return nil, fmt.Errorf("decompress %s: %w", file, err)
	}
	return body, nil
}
