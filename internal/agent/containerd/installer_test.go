package containerd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/containerdconf"
)

// node is a fake node, whose files are in a directory. Its fake containerd reads configuration
// files as containerd 2.4.2 does.
type node struct {
	t        *testing.T
	dir      string
	root     *os.Root
	state    State
	conf     string // the configuration with which the running containerd was started
	restarts int
	steps    int
	killAt   int  // the number of the step before which the process is killed; 0 for never
	broken   bool // containerd does not work once it requires the agent's NRI plugin
	agent    error
	pods     error
	dumps    string // what `containerd config dump` prints while containerd does not require the plugin
	binary   Binary
	boot     string
}

const main = containerdconf.DefaultMain

// printed is a part of what `containerd config dump` of containerd 2.4.2 prints.
const printed = `version = 4
disabled_plugins = []
imports = ['/etc/containerd/conf.d/*.toml']

[plugins]
  [plugins.'io.containerd.cri.v1.runtime']
    enable_selinux = false

  [plugins.'io.containerd.nri.v1.nri']
    disable = false
    plugin_registration_timeout = '5s'
    plugin_request_timeout = '2s'

    [plugins.'io.containerd.nri.v1.nri'.default_validator]
      enable = false
      reject_oci_hook_adjustment = false
      required_plugins = []
      tolerate_missing_plugins_annotation = ''
`

// newNode returns a node whose main configuration file has this text. If the parameter `text` is
// "-", the node has no main file.
func newNode(t *testing.T, text string) *node {
	t.Helper()
	n := &node{t: t, dir: t.TempDir(), state: State{"active", "process", 7}, dumps: printed, boot: "1"}
	var err error
	for name, content := range map[string]string{"proc/7/cmdline": "/usr/bin/containerd\x00", "etc/os-release": "ID=debian\n", stateDir + "/x": "", main: text} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(n.dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if content == "-" || strings.HasSuffix(name, "/x") {
			continue
		}
		if err := os.WriteFile(filepath.Join(n.dir, name), []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if n.root, err = os.OpenRoot(n.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.root.Close() })
	n.conf, n.binary = n.dumps, n
	return n
}

type killed struct{}

// process simulates one process: it calls the function given as `run` with a new Installer. It
// reports whether the process was killed, which happens before the step with the number n.killAt.
func (n *node) process(attempt string, run func(*Installer) error) (dead bool, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			if cause != (killed{}) {
				panic(cause)
			}
			dead = true
		}
	}()
	n.steps = 0
	return false, run(New(Options{
		Root: n.root, Binary: n.binary, Service: n, Attempt: attempt, Boot: n.boot, Timeout: 20 * time.Second, Log: logr.Discard(),
		Serves:    func(context.Context) error { return nil },
		Connected: n.connected, Tolerated: func(context.Context) error { return n.pods },
		step: n.step, sleep: func(time.Duration) {},
		flush: func(*os.File) error { return nil }, // flushing is not needed, because the tests kill processes, not the machine
	}))
}

func (n *node) step(string) {
	if n.steps++; n.steps == n.killAt {
		panic(killed{})
	}
}

func (n *node) connected(context.Context) error {
	if n.broken && n.requires() {
		return errors.New("the agent is not connected")
	}
	return n.agent
}

func (n *node) requires() bool {
	d, err := containerdconf.ReadDump(n.conf)
	return err == nil && d.Requires()
}

func (n *node) State(context.Context) (State, error) { return n.state, nil }

func (n *node) Restart(context.Context) (err error) {
	n.restarts++
	n.conf, err = n.binary.Dump(context.Background(), "/usr/bin/containerd", main)
	return err
}

var (
	imported  = regexp.MustCompile(`(?s)^(?:.*\n)?imports = \[([^\]]*)\]`)
	versioned = regexp.MustCompile(`(?m)^version = (\d)`)
)

// Dump prints the settings of a main configuration file, and of the files that it imports, as
// containerd does. If the main file has no imports, Dump reads no drop-in file. As containerd 2.3.0
// does, Dump refuses an imported file whose version is higher than that of the file that imports
// it.
func (n *node) Dump(_ context.Context, _, name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(n.dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if strings.Count("\n"+string(text), "\nimports = ") > 1 {
		return "", errors.New("toml: key imports is already defined")
	}
	if containerdconf.IsDropIn(string(text)) {
		return strings.NewReplacer("enable = false\n      reject", "enable = true\n      reject", "required_plugins = []\n      tol", "required_plugins = ['numalet']\n      tol").Replace(n.dumps), nil
	}
	dump := n.dumps
	if list := imported.FindStringSubmatch(string(text)); list != nil {
		for pattern := range strings.SplitSeq(list[1], ",") {
			pattern = strings.Trim(strings.TrimSpace(pattern), `"'`)
			files, _ := filepath.Glob(filepath.Join(n.dir, pattern))
			for _, file := range files {
				if pattern == "" {
					continue
				}
				if err := versionsMatch(string(text), file); err != nil {
					return "", err
				}
				inner, err := n.Dump(context.Background(), "", strings.TrimPrefix(file, n.dir))
				if err != nil {
					return "", err
				}
				if inner != n.dumps {
					dump = inner
				}
			}
		}
	}
	return dump, nil
}

// versionsMatch returns an error if the version of an imported file is higher than that of the text
// that imports it.
func versionsMatch(text, file string) error {
	added, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	root, dropIn := versioned.FindStringSubmatch(text), versioned.FindStringSubmatch(string(added))
	if root != nil && dropIn != nil && root[1] < dropIn[1] {
		return fmt.Errorf("drop-in config version %s higher than root config version %s", dropIn[1], root[1])
	}
	return nil
}

// tree returns the files and directories below /etc/containerd and stateDir, with their modes and
// contents.
func (n *node) tree() map[string]string {
	files := map[string]string{}
	for _, dir := range []string{"/etc/containerd", stateDir} {
		err := filepath.WalkDir(filepath.Join(n.dir, dir), func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			var text []byte
			if !d.IsDir() {
				text, err = os.ReadFile(name)
			}
			files[strings.TrimPrefix(name, n.dir)] = info.Mode().String() + " " + string(text)
			return err
		})
		if err != nil {
			n.t.Fatal(err)
		}
	}
	return files
}

func (n *node) install(attempt string) error {
	n.t.Helper()
	dead, err := n.process(attempt, func(i *Installer) error { return i.Install(n.t.Context()) })
	if dead {
		n.t.Fatal("the process was killed")
	}
	return err
}

func (n *node) undo() error {
	n.t.Helper()
	dead, err := n.process("undo", func(i *Installer) error { return i.Undo(n.t.Context()) })
	if dead {
		n.t.Fatal("the process was killed")
	}
	return err
}

// mains returns the main configuration files that the tests use, by name.
func mains(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{"none": "-", "empty": "", "covered": "version = 3\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n"}
	files, err := filepath.Glob("../../../pkg/containerdconf/testdata/main/*.toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = string(text)
	}
	return texts
}

// TestInstallAndUndo checks that Install and Undo restart containerd once each, that a second call
// of each changes nothing, and that Undo restores the files as they were before Install.
func TestInstallAndUndo(t *testing.T) {
	for name, text := range mains(t) {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, text)
			before := n.tree()
			for range 2 {
				if err := n.install("pod"); err != nil || !n.requires() || n.restarts != 1 {
					t.Fatalf("installed: error %v, required %v, %d restarts", err, n.requires(), n.restarts)
				}
			}
			if copies, _ := filepath.Glob(filepath.Join(n.dir, main+".numalet-*")); name == "debian-12.toml" {
				content, err := os.ReadFile(slices.Concat(copies, []string{"no copy"})[0])
				if string(content) != text || err != nil {
					t.Errorf("the copies of the main file are %v, %v", copies, err)
				}
			}
			for range 2 {
				if err := n.undo(); err != nil || n.requires() || n.restarts != 2 {
					t.Fatalf("undone: error %v, required %v, %d restarts", err, n.requires(), n.restarts)
				}
			}
			if diff := cmp.Diff(before, n.tree()); diff != "" {
				t.Errorf("after undo (-before +after):\n%s", diff)
			}
		})
	}
}

// TestVersion checks that the drop-in file has the version of the main configuration file, but at
// most 3, which all containerd versions that can require plugins read.
func TestVersion(t *testing.T) {
	for text, want := range map[string]string{
		"version = 2\n": "\nversion = 2\n",
		"version = 3\n": "\nversion = 3\n",
		"version = 4\n": "\nversion = 3\n",
		"":              "\nversion = 3\n",
	} {
		n := newNode(t, text)
		mustInstall(n)
		if added, err := os.ReadFile(filepath.Join(n.dir, dropIn(main))); err != nil || !strings.Contains(string(added), want) {
			t.Errorf("main file %q: drop-in file %q, error %v; want %q", text, added, err, want)
		}
	}
}

// ways are the cases of TestKilledAnywhere. Each case says what the killed process does, what the
// next process does, and what the result must be.
var ways = map[string]struct {
	broken   bool
	first    func(*node) // what runs before the process that is killed
	run      func(*Installer, context.Context) error
	then     func(*Installer, context.Context) error
	required bool
	fails    bool
}{
	"install":             {run: (*Installer).Install, then: (*Installer).Install, required: true},
	"install, then undo":  {run: (*Installer).Install, then: (*Installer).Undo},
	"undo":                {first: mustInstall, run: (*Installer).Undo, then: (*Installer).Undo},
	"undo, then install":  {first: mustInstall, run: (*Installer).Undo, then: (*Installer).Install, required: true},
	"a failure":           {broken: true, run: (*Installer).Install, then: (*Installer).Install, fails: true},
	"a failure, and undo": {broken: true, run: (*Installer).Install, then: (*Installer).Undo},
}

func mustInstall(n *node) {
	if err := n.install("pod"); err != nil {
		n.t.Fatal(err)
	}
}

// TestKilledAnywhere kills an installer process before each of its changes in turn. It checks that
// containerd can start with the files that the process left, and that the next process finishes the
// work. Undo must restore the files as they were before Install.
func TestKilledAnywhere(t *testing.T) {
	all := mains(t)
	for name, way := range ways {
		for _, file := range []string{"none", "covered", "debian-12.toml"} { // no main file, a main file that stays as it is, and a main file that changes
			text := all[file]
			t.Run(name+"/"+file, func(t *testing.T) {
				kills := 0
				for killAt := 1; ; killAt++ {
					n := newNode(t, text)
					before := n.tree()
					if way.first != nil {
						way.first(n)
					}
					n.broken, n.killAt = way.broken, killAt
					dead, _ := n.process("pod", func(i *Installer) error { return way.run(i, t.Context()) })
					n.killAt = 0
					if !dead {
						break
					}
					kills++
					if _, err := n.Dump(t.Context(), "", main); err != nil {
						t.Fatalf("killed at %d: containerd cannot start: %v", killAt, err)
					}
					_, err := n.process("pod", func(i *Installer) error { return way.then(i, t.Context()) })
					if (err != nil) != way.fails || n.requires() != way.required {
						t.Fatalf("killed at %d: the next process ends with %v; required: %v", killAt, err, n.requires())
					}
					if err := n.undo(); err != nil || n.requires() {
						t.Fatalf("killed at %d: undo: %v; required: %v", killAt, err, n.requires())
					}
					if diff := cmp.Diff(before, n.tree()); diff != "" {
						t.Fatalf("killed at %d: after undo (-before +after):\n%s", killAt, diff)
					}
				}
				if kills < 5 {
					t.Errorf("the process was killed at %d moments only", kills)
				}
			})
		}
	}
}

// TestFailureIsFinal checks that containerd has its old configuration files after a failed
// installation. Only an installer with another pod UID may try the installation again.
func TestFailureIsFinal(t *testing.T) {
	n := newNode(t, "version = 2\n")
	before := n.tree()
	n.broken = true
	for range 2 {
		err := n.install("pod")
		if err == nil || !strings.Contains(err.Error(), "the agent is not connected; delete this pod to try again") || n.requires() || n.restarts != 2 {
			t.Fatalf("error %v, required %v, %d restarts", err, n.requires(), n.restarts)
		}
	}
	after := n.tree()
	delete(after, journalFile)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("after the failure (-before +after):\n%s", diff)
	}
	n.broken = false
	if err := n.install("next"); err != nil || !n.requires() {
		t.Errorf("by another pod: %v, required %v", err, n.requires())
	}
}

// TestStopIsNoFailure checks an installer process that is stopped while containerd restarts. It
// must not restore the old configuration files, and the next process must finish the installation.
func TestStopIsNoFailure(t *testing.T) {
	n := newNode(t, "version = 3\n")
	ctx, stop := context.WithCancel(t.Context())
	n.agent = nil
	dead, err := n.process("pod", func(i *Installer) error {
		i.Connected = func(ctx context.Context) error {
			if n.restarts > 0 {
				stop()
			}
			return ctx.Err()
		}
		return i.Install(ctx)
	})
	if dead || !errors.Is(err, context.Canceled) || n.restarts != 1 || !n.requires() {
		t.Fatalf("stopped: %v, %d restarts, required %v", err, n.restarts, n.requires())
	}
	if err := n.install("pod"); err != nil || !n.requires() {
		t.Errorf("the next process: %v, required %v", err, n.requires())
	}
}

// TestRefusals checks that Install changes nothing on the node if one of its preconditions does not
// hold, for example if k3s manages containerd.
func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*node)
		want   string
	}{
		"KillMode":       {func(n *node) { n.state.KillMode = "control-group" }, "KillMode=control-group: a restart would end all containers"},
		"not running":    {func(n *node) { n.state = State{"failed", "process", 0} }, "containerd does not run: systemd's unit of it is failed"},
		"the agent":      {func(n *node) { n.agent = errors.New("no agent") }, "no agent"},
		"pods":           {func(n *node) { n.pods = errors.New("etcd must start first") }, "etcd must start first"},
		"containerd 2.0": {func(n *node) { n.dumps = strings.ReplaceAll(n.dumps, "required_plugins = []\n      tol", "tol") }, "upgrade it to 2.2 or later"},
		"others required": {func(n *node) {
			n.dumps = strings.ReplaceAll(n.dumps, "required_plugins = []\n      tol", "required_plugins = ['x']\n      tol")
		}, "add \"numalet\" to it"},
		"Bottlerocket": {func(n *node) { n.put("/etc/os-release", "ID=bottlerocket\n") }, "the node runs Bottlerocket"},
		"an absolute link": {func(n *node) {
			link := filepath.Join(n.dir, "etc/os-release")
			if err := errors.Join(os.Remove(link), os.Symlink("/usr/lib/os-release", link)); err != nil {
				n.t.Fatal(err)
			}
			n.put("/usr/lib/os-release", "ID=bottlerocket\n")
		}, "the node runs Bottlerocket"},
		"k3s":               {func(n *node) { n.put("/var/lib/rancher/k3s/agent/etc/containerd/config.toml", "") }, "k3s writes"},
		"another directory": {func(n *node) { n.put("/proc/7/cmdline", "containerd\x00--config\x00/opt/c.toml\x00") }, "changes only files in /etc/containerd"},
		"a file in the way": {func(n *node) { n.put("/etc/containerd/conf.d/numalet.toml", "version = 3\n") }, "is not of this program; remove it"},
		"a symbolic link": {func(n *node) {
			if err := errors.Join(os.Remove(filepath.Join(n.dir, main)), os.Symlink("other.toml", filepath.Join(n.dir, main))); err != nil {
				n.t.Fatal(err)
			}
			n.put("/etc/containerd/other.toml", "version = 3\n")
		}, "is no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, "version = 3\n")
			tc.change(n)
			before := n.tree()
			if err := n.install("pod"); err == nil || !strings.Contains(err.Error(), tc.want) || n.restarts != 0 {
				t.Errorf("error %v, %d restarts, want %q", err, n.restarts, tc.want)
			}
			if diff := cmp.Diff(before, n.tree()); diff != "" {
				t.Errorf("files (-before +after):\n%s", diff)
			}
		})
	}
}

func (n *node) put(name, text string) {
	n.t.Helper()
	file := filepath.Join(n.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		n.t.Fatal(err)
	}
}

// TestTrialStopsABadChange checks a drop-in file that would also change other settings. Install
// must not write this file to the directory from which containerd reads drop-in files.
func TestTrialStopsABadChange(t *testing.T) {
	n := newNode(t, "version = 3\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n")
	before := n.tree()
	var seen []string
	dead, err := n.process("pod", func(i *Installer) error {
		i.Binary = worse{n}
		i.files.step = func(step string) { seen = append(seen, step) }
		return i.Install(t.Context())
	})
	if dead || err == nil || !strings.Contains(err.Error(), "more than the required plugins of containerd would change: plugins.'io.containerd.cri.v1.runtime'.enable_selinux (true, was false)") {
		t.Errorf("error %v", err)
	}
	if i := slices.IndexFunc(seen, func(step string) bool { return strings.Contains(step, "/etc/containerd") }); i >= 0 || len(seen) == 0 {
		t.Errorf("steps %q", seen)
	}
	if diff := cmp.Diff(before, n.tree()); diff != "" || n.restarts != 0 {
		t.Errorf("%d restarts; files (-before +after):\n%s", n.restarts, diff)
	}
}

// worse is a fake containerd in which the installed drop-in file also changes a setting other than
// required_plugins.
type worse struct{ *node }

func (w worse) Dump(ctx context.Context, program, name string) (string, error) {
	text, err := w.node.Dump(ctx, program, name)
	if text != w.dumps {
		text = strings.Replace(text, "enable_selinux = false", "enable_selinux = true", 1)
	}
	return text, err
}

// TestOthersChangesRemain checks that Undo keeps what an administrator has written to the main
// configuration file after Install. Undo must also keep the backup copy of the old main file.
func TestOthersChangesRemain(t *testing.T) {
	n := newNode(t, "version = 3\n")
	mustInstall(n)
	text, _ := os.ReadFile(filepath.Join(n.dir, main))
	n.put(main, string(text)+"oom_score = -999\n")
	if err := n.undo(); err != nil {
		t.Fatal(err)
	}
	text, _ = os.ReadFile(filepath.Join(n.dir, main))
	if diff := cmp.Diff("version = 3\noom_score = -999\n", string(text)); diff != "" {
		t.Errorf("main file (-want +got):\n%s", diff)
	}
	if old, err := os.ReadFile(filepath.Join(n.dir, backup(main, "version = 3\n"))); string(old) != "version = 3\n" {
		t.Errorf("the copy is %q, %v", old, err)
	}
}

// TestLostChangeIsReported removes the import of the drop-in file from the main configuration file
// after Install. The next Install must report that containerd no longer requires the agent, if the
// installer runs in the same pod. In another pod, Install must add the import again.
func TestLostChangeIsReported(t *testing.T) {
	n := newNode(t, "version = 3\n")
	mustInstall(n)
	n.put(main, "version = 3\n")
	if err := n.install("pod"); err == nil || !strings.Contains(err.Error(), "no longer requires the agent") || n.restarts != 1 {
		t.Errorf("error %v, %d restarts", err, n.restarts)
	}
	if err := n.install("next"); err != nil || !n.requires() || n.restarts != 2 {
		t.Errorf("another pod: %v, required %v, %d restarts", err, n.requires(), n.restarts)
	}
}

// TestLostChangeAfterReboot writes the main configuration file anew at each boot of the node, as the
// images of Amazon EKS do (nodeadm). The installer runs in the same pod after a reboot. It must then
// install the change again, but only once in each boot.
func TestLostChangeAfterReboot(t *testing.T) {
	n := newNode(t, "version = 3\n")
	mustInstall(n)
	for boot := 2; boot <= 3; boot++ {
		n.boot = fmt.Sprint(boot)
		n.put(main, "version = 3\n")
		n.conf = n.dumps
		if err := n.install("pod"); err != nil || !n.requires() || n.restarts != boot {
			t.Errorf("boot %d: error %v, required %v, %d restarts", boot, err, n.requires(), n.restarts)
		}
		n.put(main, "version = 3\n")
		if err := n.install("pod"); err == nil || !strings.Contains(err.Error(), "no longer requires the agent") || n.restarts != boot {
			t.Errorf("boot %d, changed again: error %v, %d restarts", boot, err, n.restarts)
		}
		n.put(main, "version = 3\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n")
	}
	n.boot = "4" // the change survives this boot
	if err := n.install("pod"); err != nil || n.restarts != 3 {
		t.Errorf("error %v, %d restarts", err, n.restarts)
	}
	n.put(main, "version = 3\n")
	if err := n.install("pod"); err == nil || n.restarts != 3 {
		t.Errorf("changed after the boot: error %v, %d restarts", err, n.restarts)
	}
}

// TestLostJournal deletes the journal of an installation. The next Install cannot know whether the
// running containerd was started with the drop-in file. So it must restart containerd once, and not
// again.
func TestLostJournal(t *testing.T) {
	n := newNode(t, "version = 3\n")
	mustInstall(n)
	if err := os.Remove(filepath.Join(n.dir, journalFile)); err != nil {
		t.Fatal(err)
	}
	n.conf = n.dumps // the running containerd was started without the drop-in file
	for range 2 {
		if err := n.install("pod"); err != nil || !n.requires() || n.restarts != 2 {
			t.Fatalf("error %v, required %v, %d restarts, want 2", err, n.requires(), n.restarts)
		}
	}
}

// TestLostAnnotations checks that Install reports pods that lost the annotation after the
// installation, for example because an upgrade of the control plane wrote its static pods anew.
func TestLostAnnotations(t *testing.T) {
	n := newNode(t, "version = 3\n")
	mustInstall(n)
	n.pods = errors.New("etcd must start first")
	for _, pod := range []string{"pod", "next"} {
		if err := n.install(pod); err == nil || !strings.Contains(err.Error(), "etcd must start first") || n.restarts != 1 || !n.requires() {
			t.Errorf("%s: error %v, %d restarts, required %v", pod, err, n.restarts, n.requires())
		}
	}
	n.pods = nil
	if err := n.install("next"); err != nil {
		t.Errorf("with the annotation: %v", err)
	}
}

// TestUndoWithoutInstall checks that Undo succeeds and changes nothing on a node on which Install
// changes nothing, unless the configuration of containerd there requires the agent.
func TestUndoWithoutInstall(t *testing.T) {
	const k3s = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"
	required := "tolerate_missing_plugins_annotation = '" + containerdconf.Annotation + "'\n"
	for name, tc := range map[string]struct {
		change func(*node)
		want   string // part of the error; "" if Undo succeeds
	}{
		"k3s":              {func(n *node) { n.put(k3s, "") }, ""},
		"k3s, by hand":     {func(n *node) { n.put(k3s, required) }, "to undo this, delete that file"},
		"k3s, imported":    {func(n *node) { n.put(k3s, ""); n.put(containerdconf.K3sDropIn, required) }, "to undo this, delete that file"},
		"Bottlerocket":     {func(n *node) { n.put("/etc/os-release", "ID=bottlerocket\n") }, ""},
		"no containerd":    {func(n *node) { n.state = State{"inactive", "", 0} }, ""},
		"by hand":          {func(n *node) { n.state.KillMode = "mixed"; n.put(dropIn(main), required) }, "KillMode=mixed"},
		"another journal":  {func(n *node) { n.state.KillMode = "mixed"; n.put(journalFile, `{"phase": "Installed"}`) }, "KillMode=mixed"},
		"an empty journal": {func(n *node) { n.state.KillMode = "mixed"; n.put(journalFile, "") }, "KillMode=mixed"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, "version = 3\n")
			tc.change(n)
			before := n.tree()
			if err := n.undo(); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if diff := cmp.Diff(before, n.tree()); diff != "" || n.restarts != 0 {
				t.Errorf("%d restarts; files (-before +after):\n%s", n.restarts, diff)
			}
		})
	}
}

// TestForeignRequirement checks a containerd that the administrator has configured to require the
// agent. Install and Undo must not change this configuration, and Undo must report that containerd
// still requires the agent.
func TestForeignRequirement(t *testing.T) {
	n := newNode(t, "version = 3\n")
	n.dumps = strings.NewReplacer("enable = false\n      reject", "enable = true\n      reject", "required_plugins = []\n      tol", "required_plugins = ['numalet']\n      tol").Replace(n.dumps)
	before := n.tree()
	if err := n.install("pod"); err != nil || n.restarts != 0 {
		t.Errorf("error %v, %d restarts", err, n.restarts)
	}
	if err := n.undo(); err == nil || !strings.Contains(err.Error(), "still requires the agent") || n.restarts != 0 {
		t.Errorf("undo: error %v, %d restarts", err, n.restarts)
	}
	if diff := cmp.Diff(before, n.tree()); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
}

func TestReasons(t *testing.T) {
	for text, want := range map[string]string{
		"[+] pods\n[-] NRI: not connected\n[-] policies: missing\n": "NRI: not connected; policies: missing",
		"404 page not found\n": "404 page not found",
	} {
		if got := reasons(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
