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

// stateDir has the journal, and the files of a trial.
const stateDir = "/var/lib/numalet/containerd"

const (
	journalFile = stateDir + "/journal.json"
	trialFile   = stateDir + "/trial.toml"
	trialDropIn = stateDir + "/numalet.toml"
)

// unfinished ends the name of a file that is being written. No import of containerd matches it.
const unfinished = ".numalet-tmp"

// files is the node's file system. Names are absolute in it.
type files struct {
	root  *os.Root
	step  func(string)         // called before each change
	flush func(*os.File) error // writes what the kernel still holds to the disk
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

// replace writes a file so that it has the old content or the new one after a crash at any moment. It
// keeps the mode and the owner of an earlier file.
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

// create writes a file that does not exist yet. A file with the same content is left as it is, and
// another one is an error.
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

// prepare writes the content beside a file.
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

// keepOwner changes the owner only if it has to, because that needs a capability.
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

// regular returns an error if a file is something else, such as a symbolic link, which a new file
// would replace. A missing file is no error.
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

// phase says what a killed process left. The comments say what containerd runs with.
type phase string

const (
	nothing    phase = ""           // the old files
	writing    phase = "Writing"    // the old files; some of the new ones are there
	restarting phase = "Restarting" // the old files, or the new ones, which are complete
	installed  phase = "Installed"  // the new files
	reverting  phase = "Reverting"  // any of them; the old ones are being restored because of Reason
	failed     phase = "Failed"     // the old files
	removing   phase = "Removing"   // any of them; the old ones are being restored on request
)

// place is where a node has its containerd: the program as in its command line, and the main file.
type place struct {
	Program string `json:"program"`
	Main    string `json:"main"`
}

// journal is written before each phase begins.
type journal struct {
	Phase   phase  `json:"phase"`
	Attempt string `json:"attempt"`          // the pod that began it
	Reason  string `json:"reason,omitempty"` // why it failed
	MadeDir bool   `json:"madeDir"`          // the drop-in directory did not exist
	Place   place  `json:"place"`            // of containerd, which may not run any more
}

// load returns the journal. One that cannot be read counts as none: the files themselves show what
// was installed.
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

// dropIn returns the name of the drop-in file beside a main file.
func dropIn(main string) string { return path.Join(path.Dir(main), containerdconf.DropInName) }

// backup returns the name of the copy of a main file with a content. Two copies of one name are
// equal, so that none is ever overwritten.
func backup(main, text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%s.numalet-%x", main, sum[:8])
}

// ours reports whether a file of a node is there that the program writes for containerd.
func (f files) ours(main string) (bool, error) {
	text, _, err := f.text(dropIn(main))
	if err != nil || containerdconf.IsDropIn(text) {
		return err == nil, err
	}
	text, _, err = f.text(main)
	return containerdconf.RemoveImport(main, text) != text, err
}

// addImport makes the main file import the drop-in file, after a copy of it was made.
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

// takeBack removes what was written for containerd, as far as it is there. What others have changed in the main
// file since remains, and the copy of it, too.
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
		case old == "" && !kept: // there was none
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
