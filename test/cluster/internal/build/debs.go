package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// debs are Debian packages that can be downloaded and unpacked without being installed.
type debs struct {
	dir  string   // for the downloaded packages
	flag []string // options of apt-get and apt-cache that select the package sources
}

// openDebs returns the packages of the host's package sources. If `backports` is true, it returns
// those of the backports of the host's Debian release instead. The caller must call close.
func (b Builder) openDebs(backports bool) (d debs, err error) {
	if d.dir, err = os.MkdirTemp("", "debs"); err != nil || !backports {
		return d, err
	}
	if err = d.useBackports(); err == nil {
		err = b.run(tool{}, d.apt("apt-get", "update")...)
	}
	if err != nil {
		d.close()
		return d, fmt.Errorf("%w (make the backports of this Debian release reachable)", err)
	}
	return d, nil
}

// useBackports makes the backports of the Debian release the only package source. The package lists
// are stored in d.dir, so those of the host stay unchanged.
func (d *debs) useBackports() error {
	uri, codename, err := mirror()
	if err != nil {
		return err
	}
	for _, sub := range []string{"lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(d.dir, sub), 0o755); err != nil {
			return err
		}
	}
	list := filepath.Join(d.dir, "sources.list")
	d.flag = []string{"-o", "Dir::Etc::sourcelist=" + list, "-o", "Dir::Etc::sourceparts=-",
		"-o", "Dir::State::lists=" + d.dir + "/lists", "-o", "Dir::Cache=" + d.dir}
	return os.WriteFile(list, fmt.Appendf(nil, "deb %s %s-backports main\n", uri, codename), 0o644)
}

func (d debs) close() { os.RemoveAll(d.dir) }

// apt returns the command line of apt-get or apt-cache with the given arguments, and with the
// options that select the package sources of d.
func (d debs) apt(program string, args ...string) []string {
	return append(append([]string{program}, d.flag...), args...)
}

// dependency returns the first dependency of the package with the given name.
func (d debs) dependency(name string) (string, error) {
	argv := d.apt("apt-cache", "depends", "--important", name)
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	if err != nil {
		return "", fmt.Errorf("ask apt what %s depends on: %w", name, err)
	}
	_, first, found := strings.Cut(string(out), "Depends: ")
	if !found {
		return "", fmt.Errorf("ask apt what %s depends on: no package in %q", name, out)
	}
	first, _, _ = strings.Cut(first, "\n")
	return first, nil
}

// fetch downloads the packages with the given names, and returns their files.
func (b Builder) fetch(d debs, names ...string) ([]string, error) {
	if err := b.run(tool{Dir: d.dir}, append(d.apt("apt-get", "download"), names...)...); err != nil {
		return nil, err
	}
	return filepath.Glob(filepath.Join(d.dir, "*.deb"))
}

// unpack downloads the packages with the given names, and unpacks them into the directory given as
// `tree`.
func (b Builder) unpack(d debs, tree string, names ...string) error {
	files, err := b.fetch(d, names...)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := b.run(tool{}, "dpkg-deb", "-x", file, tree); err != nil {
			return err
		}
	}
	return nil
}
