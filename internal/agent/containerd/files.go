package containerd

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/numalet/numalet/pkg/containerdconf"
)

// stateDir is the directory in which the program numalet-containerd keeps its state. The journal in
// it records how far a change of containerd's configuration has come. The trial files in it let
// containerd check a new configuration.
const stateDir = "/var/lib/numalet/containerd"

const (
	journalFile = stateDir + "/journal.json"
	trialFile   = stateDir + "/trial.toml"
	trialDropIn = stateDir + "/numalet.toml"
)

// unfinished is the suffix of a file that is being written. containerd does not read such a file,
// because the patterns of its imports, such as conf.d/*.toml, do not match this suffix.
const unfinished = ".numalet-tmp"

// files reads and changes the node's file system. A file name in the parameters of its methods is
// an absolute path on the node.
type files struct {
	root  *os.Root
	step  func(string)         // called before each change
	flush func(*os.File) error // makes what was written to the file durable on the disk
}

func inside(name string) string { return strings.TrimPrefix(name, "/") }

// text returns the content of a file, and whether it exists.
func (f files) text(name string) (string, bool, error) {
	content, err := f.root.ReadFile(inside(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return string(content), err == nil, err
}

// replace writes a file atomically: after a crash at any moment, the file has the old content or
// the new content. An existing file keeps its mode and owner.
func (f files) replace(name, text string) error {
	if err := f.prepare(name, text); err != nil {
		return err
	}
	f.step("rename " + name)
	if err := f.root.Rename(inside(name)+unfinished, inside(name)); err != nil {
		return err
	}
	return f.sync(path.Dir(name))
}

// create writes a new file. If the file already exists with the same content, the method leaves it
// as it is. If the file exists with another content, the method returns an error.
func (f files) create(name, text string) error {
	if err := f.prepare(name, text); err != nil {
		return err
	}
	f.step("create " + name)
	err := f.root.Link(inside(name)+unfinished, inside(name))
	if errors.Is(err, fs.ErrExist) {
		var old string
		if old, _, err = f.text(name); err == nil && old != text {
			err = fmt.Errorf("%s exists already with another content; move it away", name)
		}
	}
	return errors.Join(err, f.remove(name+unfinished), f.sync(path.Dir(name)))
}

// prepare writes the new content of a file to a temporary file in the same directory.
func (f files) prepare(name, text string) error {
	f.step("write " + name)
	mode := fs.FileMode(0o644)
	info, err := f.root.Lstat(inside(name))
	if err == nil {
		mode = info.Mode().Perm()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := f.root.OpenFile(inside(name)+unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = out.WriteString(text)
	if err = errors.Join(err, out.Chmod(mode)); err == nil && info != nil {
		err = keepOwner(out, info)
	}
	return errors.Join(err, f.flush(out), out.Close())
}

// keepOwner gives a file the owner of another file. It calls chown only if the owners differ,
// because chown needs a capability.
func keepOwner(f *os.File, like fs.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	want, have := like.Sys().(*syscall.Stat_t), now.Sys().(*syscall.Stat_t)
	if want.Uid == have.Uid && want.Gid == have.Gid {
		return nil
	}
	return f.Chown(int(want.Uid), int(want.Gid))
}

// remove removes a file or an empty directory, if it exists.
func (f files) remove(name string) error {
	if _, err := f.root.Lstat(inside(name)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f.step("remove " + name)
	if err := f.root.Remove(inside(name)); err != nil {
		return err
	}
	return f.sync(path.Dir(name))
}

func (f files) sync(dir string) error {
	d, err := f.root.Open(inside(dir))
	if err != nil {
		return err
	}
	return errors.Join(f.flush(d), d.Close())
}

// regular returns an error if something that is not a regular file has this name. To write a file,
// the installer renames a new file to this name. If the name were a symbolic link, the rename would
// replace the link, and not the file to which the link leads.
func (f files) regular(name string) error {
	info, err := f.root.Lstat(inside(name))
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("%s is no regular file but %s; replace it by one", name, info.Mode().Type())
	}
	return err
}

// phase is how far an installation of the configuration, or its removal, has come. After a process
// was killed, the phase tells the next process what is left to do. The comment of each phase below
// says with which configuration files containerd runs: the old files from before the installation,
// or the new files that the installation writes.
type phase string

const (
	nothing    phase = ""           // the old files
	writing    phase = "Writing"    // the old files; some of the new files are already written
	restarting phase = "Restarting" // the old files or the new files; all new files are written
	installed  phase = "Installed"  // the new files
	reverting  phase = "Reverting"  // the old files or the new files; the old files are being restored because the installation failed
	failed     phase = "Failed"     // the old files
	removing   phase = "Removing"   // the old files or the new files; the old files are being restored because Undo was called
)

// place is where a node has its containerd: the program's name as in the command line of the
// running containerd, and the path of the main configuration file.
type place struct {
	Program string `json:"program"`
	Main    string `json:"main"`
}

// journal is what Installer remembers across its restarts, in the file journalFile. The Installer
// writes the journal at the beginning of each phase.
type journal struct {
	Phase   phase  `json:"phase"`
	Attempt string `json:"attempt"`          // the UID of the pod that began the installation
	Boot    string `json:"boot"`             // the kernel's ID of the last boot in which the configuration was installed or was still there
	Reason  string `json:"reason,omitempty"` // why the installation failed
	MadeDir bool   `json:"madeDir"`          // the directory of drop-in files did not exist before the installation
	Place   place  `json:"place"`            // where containerd is; needed if containerd no longer runs
}

// load returns the journal. If the journal cannot be parsed, load returns an empty journal,
// because the configuration files themselves show what was installed.
func (f files) load() (journal, error) {
	text, ok, err := f.text(journalFile)
	if err != nil || !ok {
		return journal{}, err
	}
	var j journal
	if json.Unmarshal([]byte(text), &j) != nil {
		return journal{}, nil
	}
	return j, nil
}

func (f files) save(j journal) error {
	if j.Phase == nothing {
		return errors.Join(f.remove(journalFile), f.remove(journalFile+unfinished))
	}
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	if err := f.replace(journalFile, string(text)+"\n"); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// generated returns the path of the configuration file that k3s or RKE2 writes for its containerd.
// The parameter `kind` is k3s or rke2.
func generated(kind string) string {
	return "/var/lib/rancher/" + kind + "/agent/etc/containerd/config.toml"
}

// dropIn returns the path of the drop-in file that this program writes for a main configuration
// file. The parameter `main` is the path of the main file.
func dropIn(main string) string { return path.Join(path.Dir(main), containerdconf.DropInName) }

// backup returns the name for a backup copy of a main configuration file with this text. The name
// contains a hash of the text. So two copies with the same name have the same text, and no copy is
// ever overwritten by another text.
func backup(main, text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%s.numalet-%x", main, sum[:8])
}

// ours reports whether the node has the drop-in file of this program, or a main configuration file
// that imports the drop-in file.
func (f files) ours(main string) (bool, error) {
	text, _, err := f.text(dropIn(main))
	if err != nil || containerdconf.IsDropIn(text) {
		return err == nil, err
	}
	text, _, err = f.text(main)
	return containerdconf.RemoveImport(main, text) != text, err
}

// addImport makes a backup copy of the main configuration file, and then adds an import of the
// drop-in file to the main file.
func (f files) addImport(main string) error {
	text, exists, err := f.text(main)
	if err != nil {
		return err
	}
	if exists {
		if err := f.create(backup(main, text), text); err != nil {
			return fmt.Errorf("copy %s: %w", main, err)
		}
	}
	return f.replace(main, containerdconf.AddImport(main, text))
}

// takeBack undoes what this program wrote to containerd's files, even if a killed process wrote
// only a part of it. If others have changed the main configuration file since, their changes and
// the backup copy remain.
func (f files) takeBack(main string, madeDir bool) error {
	text, ok, err := f.text(main)
	if err != nil {
		return err
	}
	if old := containerdconf.RemoveImport(main, text); ok && old != text {
		_, kept, err := f.text(backup(main, old))
		switch {
		case err != nil:
			return err
		case old == "" && !kept: // there was no main file before the installation
			err = f.remove(main)
		default:
			err = f.replace(main, old)
		}
		if err != nil {
			return err
		}
		text = old
	}
	mine := []string{main + unfinished, dropIn(main) + unfinished, trialFile, trialFile + unfinished, trialDropIn, trialDropIn + unfinished}
	if added, _, err := f.text(dropIn(main)); err != nil {
		return err
	} else if containerdconf.IsDropIn(added) {
		mine = append(mine, dropIn(main))
	}
	copied := backup(main, text)
	if saved, _, err := f.text(copied); err != nil {
		return err
	} else if saved == text {
		mine = append(mine, copied)
	}
	mine = append(mine, copied+unfinished)
	for _, name := range mine {
		if err := f.remove(name); err != nil {
			return err
		}
	}
	if !madeDir {
		return nil
	}
	if err := f.remove(path.Dir(dropIn(main))); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
		return err
	}
	return nil
}
