package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/numalet/numalet/test/cluster/internal/artefact"
)

// oldestQEMU is the oldest version of QEMU that the test cluster uses. From this version on, QEMU's
// code translator write-protects a page of code before it reads the page. With an older version, an
// emulated CPU may miss that another CPU has changed the kernel's code. Then the CPU hangs, or QEMU
// crashes. Source: QEMU's commit "accel/tcg: Always lock pages before translation", in 8.1.
var oldestQEMU = [2]int{8, 1}

// backported are the Debian packages of QEMU and its BIOS, which unpackBackports downloads.
var backported = []string{"qemu-system-x86", "qemu-system-common", "qemu-system-data", "seabios"}

// emulator returns the recipe for the program qemu. If the QEMU installed on the host is new
// enough, qemu is a link to it. Otherwise QEMU is unpacked from the backports of the host's Debian
// release.
func (b Builder) emulator() artefact.Recipe {
	installed, _ := exec.Command("qemu-system-x86_64", "--version").Output()
	return artefact.Recipe{
		Name:   "emulator",
		Inputs: append([]string{string(installed), fmt.Sprint(oldestQEMU)}, backported...),
		Make: func(out string) error {
			if newEnough(string(installed)) {
				return os.Symlink("/usr/bin/qemu-system-x86_64", filepath.Join(out, "qemu"))
			}
			if err := b.unpackBackports(out); err != nil {
				return fmt.Errorf("QEMU %d.%d or newer is needed, and not installed: %w", oldestQEMU[0], oldestQEMU[1], err)
			}
			return os.WriteFile(filepath.Join(out, "qemu"), []byte(startBackport), 0o755)
		},
	}
}

// startBackport is a script that starts the QEMU unpacked from the backports. The script names the
// directories with QEMU's data, because QEMU looks for its data in /usr/share by default.
const startBackport = `#!/bin/sh
here=$(dirname "$0")
exec "$here/usr/bin/qemu-system-x86_64" -L "$here/usr/share/qemu" -L "$here/usr/share/seabios" -L /usr/lib/ipxe/qemu "$@"
`

// newEnough reports whether QEMU has at least the version oldestQEMU. It parses the first line of
// the output of qemu-system-x86_64 --version.
func newEnough(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "QEMU emulator version %d.%d", &major, &minor); err != nil {
		return false
	}
	return major > oldestQEMU[0] || major == oldestQEMU[0] && minor >= oldestQEMU[1]
}

// unpackBackports downloads the packages of QEMU from the backports and unpacks them into out.
func (b Builder) unpackBackports(out string) error {
	d, err := b.openDebs(true)
	if err != nil {
		return err
	}
	defer d.close()
	return b.unpack(d, out, backported...)
}
