package build

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// debianPackages returns the Debian packages that the program `rig` needs. The value for each package
// is the path of one of its files. If the file exists, installTools counts the package as
// installed.
func debianPackages() map[string]string {
	return map[string]string{
		"qemu-system-x86": "/usr/bin/qemu-system-x86_64",
		"seabios":         "/usr/share/seabios/bios-256k.bin",
		"ipxe-qemu":       "/usr/lib/ipxe/qemu/efi-virtio.rom",
		"busybox-static":  "/bin/busybox",
		"debootstrap":     "/usr/sbin/debootstrap",
		"e2fsprogs":       "/sbin/mkfs.ext4",
		"kmod":            "/sbin/depmod",
		"gcc":             "/usr/bin/gcc",
		"libc6-dev":       "/usr/include/stdlib.h",
		"libseccomp-dev":  "/usr/include/seccomp.h",
		"pkg-config":      "/usr/bin/pkg-config",
		"xz-utils":        "/usr/bin/xz",
	}
}

// installTools installs the Debian packages that are missing.
func (b Builder) installTools() error {
	var missing []string
	for name, file := range debianPackages() {
		if _, err := os.Stat(file); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	command := "apt-get install -y --no-install-recommends " + strings.Join(missing, " ")
	if os.Geteuid() != 0 {
		return fmt.Errorf("packages are missing: run as root: apt-get update && %s", command)
	}
	quiet := tool{Env: []string{"DEBIAN_FRONTEND=noninteractive"}}
	if err := b.run(quiet, "apt-get", "update"); err != nil {
		return err
	}
	return b.run(quiet, strings.Fields(command)...)
}

// mirror returns the URI of the package repository of the installed Debian release, and the
// codename of the release.
func mirror() (uri, codename string, err error) {
	out, err := exec.Command("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)", "Created-By: Packages").Output()
	if err != nil {
		return "", "", fmt.Errorf("ask apt for its mirror: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		uri, codename, _ = strings.Cut(strings.TrimSpace(line), " ")
		if codename != "" && !strings.Contains(codename, "-") {
			return uri, codename, nil
		}
	}
	return "", "", fmt.Errorf("ask apt for its mirror: no Debian release in %q", out)
}
