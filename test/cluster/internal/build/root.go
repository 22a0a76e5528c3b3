package build

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/numalet/numalet/test/cluster/internal/artefact"
	"github.com/numalet/numalet/test/cluster/internal/machine"
)

// diskSize is the size of a machine's disk in bytes. The image file is sparse.
const diskSize = 6 << 30

// debianPackagesInGuest are the Debian packages that nodes with systemd have in addition to those
// that debootstrap always installs.
const debianPackagesInGuest = "systemd,systemd-sysv,dbus,iproute2,kmod,apparmor"

// root returns the recipe for root.img, the root file system of a node: a base system with kubelet,
// the container runtime, runc and the CNI plugins.
func (b Builder) root(f machine.Flavour, r Result) artefact.Recipe {
	name, base, inputs := "root-plain", b.busyboxBase, "busybox"
	if f.Systemd {
		name, base, inputs = "root-systemd", b.debianBase, debianPackagesInGuest
	}
	if f.CRIO {
		name, base, inputs = "root-crio", b.crioBase(r.CRIO), inputs+" unpacked "+strings.Join(debianPackagesOfCRIO(), " ")+" "+filepath.Base(r.CRIO)
	}
	return artefact.Recipe{
		Name:   name,
		Inputs: []string{inputs, filepath.Base(r.Kubeone), filepath.Base(r.Runtime)},
		Make: func(out string) error {
			tree := filepath.Join(out, "tree")
			defer os.RemoveAll(tree)
			if err := base(tree); err != nil {
				return err
			}
			if err := b.nodePrograms(tree, r); err != nil {
				return err
			}
			return b.format(filepath.Join(out, "root.img"), tree)
		},
	}
}

// busyboxBase writes a base system to the directory given as `tree`. The only program of this system
// is busybox.
func (b Builder) busyboxBase(tree string) error {
	applets, err := busyboxApplets()
	if err != nil {
		return err
	}
	for _, d := range []string{"bin", "sbin", "usr/bin", "usr/local/bin", "etc", "dev", "proc", "sys", "run", "tmp",
		"root", "var/lib", "var/log", "opt/cni/bin"} {
		if err := os.MkdirAll(filepath.Join(tree, d), 0o755); err != nil {
			return err
		}
	}
	if err := b.run(tool{}, "cp", "/bin/busybox", filepath.Join(tree, "bin/busybox")); err != nil {
		return err
	}
	links := map[string]string{"sbin/init": "../bin/busybox", "sbin/reboot": "../bin/busybox", "var/run": "../run"}
	for _, a := range applets {
		links["bin/"+a] = "busybox"
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(tree, name)); err != nil {
			return err
		}
	}
	return nil
}

// debianBase installs a minimal Debian system in the directory given as `tree`. The system has the
// same Debian release as the host.
func (b Builder) debianBase(tree string) error {
	uri, codename, err := mirror()
	if err != nil {
		return err
	}
	return b.run(tool{}, "debootstrap", "--variant=minbase", "--include="+debianPackagesInGuest, codename, tree, uri)
}

// crioBase returns a function that installs a minimal Debian system with CRI-O, whose programs are
// in the directory given as `built`.
func (b Builder) crioBase(built string) func(tree string) error {
	return func(tree string) error {
		if err := b.debianBase(tree); err != nil {
			return err
		}
		d, err := b.openDebs(false)
		if err != nil {
			return err
		}
		defer d.close()
		files, err := b.fetch(d, debianPackagesOfCRIO()...)
		if err != nil {
			return err
		}
		// dpkg-deb would replace the symbolic link /lib of the system by a directory.
		if err := b.run(tool{}, append([]string{"dpkg", "--root=" + tree, "--unpack"}, files...)...); err != nil {
			return err
		}
		return b.run(tool{}, "cp", "-rT", built, filepath.Join(tree, "usr/local/bin"))
	}
}

func (b Builder) nodePrograms(tree string, r Result) error {
	cni := filepath.Join(tree, "opt/cni")
	if err := os.MkdirAll(cni, 0o755); err != nil {
		return err
	}
	for _, c := range [][]string{
		{"cp", filepath.Join(r.Kubeone, "kubeone"), filepath.Join(tree, "usr/local/bin/")},
		{"cp", "-rT", filepath.Join(r.Runtime, "bin"), filepath.Join(tree, "usr/local/bin")},
		{"cp", "-rT", filepath.Join(r.Runtime, "cni"), filepath.Join(cni, "bin")},
	} {
		if err := b.run(tool{}, c...); err != nil {
			return err
		}
	}
	return nil
}

// format creates an ext4 image of the files in the directory given as `tree`. It also initializes the
// inode tables. Otherwise the kernel of the guest would initialize them, which takes a long time in
// an emulated machine.
func (b Builder) format(image, tree string) error {
	f, err := os.Create(image)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(diskSize); err != nil {
		return err
	}
	return b.run(tool{}, "mkfs.ext4", "-q", "-F", "-L", "root", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-d", tree, image)
}
