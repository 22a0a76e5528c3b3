package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/pkg/containerdconf"
)

// Binary runs the node's containerd.
type Binary interface {
	// Dump returns the settings that `containerd config dump` prints for a main configuration file.
	// The parameter `main` is the path of this file, and `program` is the name of the program in
	// the command line of the running containerd.
	Dump(ctx context.Context, program, main string) (string, error)
}

// Service is containerd's unit in systemd.
type Service interface {
	State(ctx context.Context) (State, error)
	Restart(ctx context.Context) error
}

// State is the state of a systemd unit: its ActiveState, KillMode and MainPID.
type State struct {
	Active, KillMode string
	PID              uint32
}

// Options are the options of New.
type Options struct {
	Root    *os.Root // the root of the node's file system, including the node's /proc
	Binary  Binary
	Service Service
	// Serves returns nil if containerd answers the kubelet's requests (CRI), and otherwise the
	// reason why not.
	Serves func(context.Context) error
	// Connected returns nil if the agent of this node is ready, and otherwise the reason why not.
	Connected func(context.Context) error
	// Tolerated returns an error if pods on this node must start before the agent, but lack the
	// annotation that allows this. Once containerd requires the agent, it creates containers only
	// while the agent is connected, except for pods with this annotation. The error names the pods.
	Tolerated func(context.Context) error
	// Attempt is the UID of the pod in which this program runs. After an installation has failed,
	// it is tried again only if Attempt differs from that of the failed installation. After somebody
	// has changed the installed configuration, it is tried again only then, or after a reboot.
	Attempt string
	Boot    string        // the kernel's ID of this boot of the node
	Timeout time.Duration // how long Serves and Connected may take to return nil after a restart
	Log     logr.Logger

	// The next fields are for tests. step is called before each change of the node. flush and sleep
	// replace (*os.File).Sync and time.Sleep.
	step  func(string)
	flush func(*os.File) error
	sleep func(time.Duration)
}

// Installer changes containerd's configuration so that containerd creates no container while the
// agent is not connected to it. It can also undo this change. Its methods may be called repeatedly,
// but not concurrently.
type Installer struct {
	Options
	files files
}

// New returns an Installer for the node that o describes.
func New(o Options) *Installer {
	if o.step == nil {
		o.step = func(string) {}
	}
	if o.flush == nil {
		o.flush = (*os.File).Sync
	}
	if o.sleep == nil {
		o.sleep = time.Sleep
	}
	return &Installer{o, files{o.Root, o.step, o.flush}}
}

// Install makes containerd require the agent, and restarts containerd with the new configuration.
// It returns nil when containerd and the agent work with this configuration. If they do not work,
// Install restores the old configuration. If it cannot finish this, the next call of Install
// continues with it. If containerd already requires the agent, because an earlier call succeeded or
// an administrator configured it, Install only checks that containerd answers, and that the pods
// that must start before the agent still may. When ctx ends, Install leaves everything as it is,
// and the next call continues.
func (i *Installer) Install(ctx context.Context) error {
	j, err := i.files.load()
	if err != nil {
		return err
	}
	at, err := i.find(ctx, j)
	if err != nil {
		return err
	}
	switch {
	case j.Phase == restarting:
		return i.restart(ctx, at, j)
	case j.Phase == reverting:
		return i.revert(ctx, at, j)
	case j.Phase == failed && j.Attempt == i.Attempt:
		return failure(j)
	case j.Phase == removing:
		err = i.remove(ctx, at, j)
	case j.Phase == writing:
		err = i.forget(at, j)
	}
	if err != nil {
		return err
	}
	return i.begin(ctx, at, j)
}

// Undo removes what Install added to containerd's configuration. It restarts containerd if
// containerd may have read any of this. It returns nil when containerd serves the kubelet again and
// does not require the agent. On a node on which Install would change nothing, for example because
// the node runs k3s, Undo returns nil if there is no trace of an installation.
func (i *Installer) Undo(ctx context.Context) error {
	j, err := i.files.load()
	if err != nil {
		return err
	}
	at, err := i.find(ctx, j)
	if err != nil {
		return i.unlessUntouched(err)
	}
	ours, err := i.files.ours(at.Main)
	if err != nil {
		return err
	}
	switch {
	case !ours && (j.Phase == nothing || j.Phase == failed), j.Phase == writing:
		err = i.forget(at, j)
	default:
		j.Phase, j.Place = removing, at
		if err = i.files.save(j); err == nil {
			err = i.remove(ctx, at, j)
		}
	}
	if err != nil {
		return err
	}
	now, err := i.dump(ctx, at, at.Main)
	if err == nil && now.Requires() {
		err = fmt.Errorf("containerd still requires the agent, by a file that is not of this program; remove %q from required_plugins, and restart containerd", containerdconf.Plugin)
	}
	return err
}

// unlessUntouched returns nil and logs the refusal if the node has no trace of an installation: no
// journal, and no configuration file of containerd that names containerdconf.Annotation, as the
// drop-in file does. Otherwise it returns the refusal.
func (i *Installer) unlessUntouched(refusal error) error {
	for _, name := range []string{journalFile, containerdconf.DefaultMain, dropIn(containerdconf.DefaultMain), containerdconf.K3sDropIn, containerdconf.RKE2DropIn, generated("k3s"), generated("rke2")} {
		text, exists, err := i.files.text(name)
		if err != nil || exists && name == journalFile || strings.Contains(text, containerdconf.Annotation) {
			return errors.Join(refusal, err)
		}
	}
	i.Log.Info("nothing to undo: this program has not changed the node", "reason", refusal.Error())
	return nil
}

// find returns where the node's containerd is. If containerd does not run, for example because an
// earlier change of its configuration broke it, find returns the place that the Installer's journal
// j records. find returns an error if the Installer must not change containerd. For example,
// another program, such as k3s, may manage containerd's configuration, or systemd may end all
// containers at a restart of containerd.
func (i *Installer) find(ctx context.Context, j journal) (place, error) {
	release, there, err := i.files.text("/etc/os-release")
	if err != nil || !there { // for example, a symbolic link with an absolute target, which os.Root does not follow; the target is usually /usr/lib/os-release, which is read instead
		if release, _, err = i.files.text("/usr/lib/os-release"); err != nil {
			return place{}, err
		}
	}
	for _, kind := range []string{"k3s", "rke2"} {
		main := generated(kind)
		if _, there, _ := i.files.text(main); there {
			return place{}, containerdconf.Managed(main, release)
		}
	}
	unit, err := i.Service.State(ctx)
	if err != nil {
		return place{}, err
	}
	if unit.KillMode != "process" && unit.KillMode != "none" {
		return place{}, fmt.Errorf("systemd's unit of containerd has KillMode=%s: a restart would end all containers; set KillMode=process in it, and run systemctl daemon-reload", unit.KillMode)
	}
	at := j.Place
	if line, _, _ := i.files.text(fmt.Sprintf("/proc/%d/cmdline", unit.PID)); unit.PID != 0 && line != "" {
		command := strings.Split(strings.TrimRight(line, "\x00"), "\x00")
		at = place{command[0], containerdconf.MainFile(command)}
	}
	if at.Program == "" {
		return place{}, fmt.Errorf("containerd does not run: systemd's unit of it is %s, with the main process %d; this program changes a containerd that runs", unit.Active, unit.PID)
	}
	if err := containerdconf.Managed(at.Main, release); err != nil {
		return place{}, err
	}
	return at, errors.Join(i.files.regular(at.Main), i.files.regular(dropIn(at.Main)))
}

// begin starts an installation. Before the call, the caller must finish or undo what a killed
// process left.
func (i *Installer) begin(ctx context.Context, at place, j journal) error {
	before, err := i.dump(ctx, at, at.Main)
	if err != nil {
		return err
	}
	present, _, err := i.files.text(dropIn(at.Main))
	if err != nil {
		return err
	}
	own := containerdconf.IsDropIn(present)
	switch {
	case before.Requires() && (!own || j.Phase == installed):
		// The administrator or an earlier pod made containerd require the agent. Pods may have lost
		// the annotation since, for example by an upgrade of the control plane.
		return errors.Join(i.survived(j), i.Serves(ctx), i.Tolerated(ctx))
	case j.Phase == installed && j.Attempt == i.Attempt && j.Boot == i.Boot:
		// Another program, such as a configuration management tool, may write the old configuration
		// again and again, and each installation restarts containerd. So each pod installs once. But
		// some systems write the configuration anew at each boot, such as Amazon EKS with Amazon Linux
		// 2023 (nodeadm-config.service runs writeContainerdConfig), so a pod installs once in each boot.
		return fmt.Errorf("containerd's configuration no longer requires the agent: somebody changed %s, %s or another file after the installation; delete this pod to install it again", at.Main, dropIn(at.Main))
	case present != "" && !own:
		return fmt.Errorf("%s exists, and is not of this program; remove it", dropIn(at.Main))
	}
	if err := errors.Join(i.Serves(ctx), i.Connected(ctx), i.Tolerated(ctx)); err != nil {
		return err
	}
	// If the drop-in file exists, but there is no journal, containerd may not have read the file yet,
	// for example because somebody wrote it by hand while containerd was running. So containerd is
	// restarted once even if no file changes.
	j = journal{Phase: restarting, Attempt: i.Attempt, Boot: i.Boot, MadeDir: j.MadeDir, Place: at}
	if !before.Requires() {
		if j, err = i.write(ctx, j, before); err != nil {
			return err
		}
	}
	if err := i.files.save(j); err != nil {
		return err
	}
	return i.restart(ctx, at, j)
}

// survived notes in the journal that the installed configuration still exists in this boot of the node.
// If it is lost later in this boot, the boot is not the reason.
func (i *Installer) survived(j journal) error {
	if j.Phase != installed || j.Boot == i.Boot {
		return nil
	}
	j.Boot = i.Boot
	return i.files.save(j)
}

// write lets containerd check the new configuration, and then writes the files of this
// configuration. It returns a journal, which the caller must save.
func (i *Installer) write(ctx context.Context, j journal, before containerdconf.Dump) (journal, error) {
	at := j.Place
	text, err := i.try(ctx, at, before)
	if err != nil {
		return j, err
	}
	if _, err := i.Root.Lstat(inside(path.Dir(dropIn(at.Main)))); errors.Is(err, os.ErrNotExist) {
		j.MadeDir = true
	}
	j.Phase = writing
	if err := i.files.save(j); err != nil {
		return j, err
	}
	if err := i.place(ctx, at, before, text); err != nil {
		return j, errors.Join(err, i.forget(at, j))
	}
	j.Phase = restarting
	return j, nil
}

// try returns the text of the drop-in file, and checks this text before the file is installed. It
// writes the text to a trial directory, and lets `containerd config dump` read it there.
func (i *Installer) try(ctx context.Context, at place, before containerdconf.Dump) (string, error) {
	mainText, exists, err := i.files.text(at.Main)
	if err != nil {
		return "", err
	}
	version, imported := containerdconf.Version(mainText), []string{trialDropIn}
	if exists {
		imported = []string{at.Main, trialDropIn}
	}
	text, err := containerdconf.DropIn(before, version)
	if err != nil {
		return "", err
	}
	if err := i.files.replace(trialDropIn, text); err != nil {
		return "", err
	}
	if err := i.files.replace(trialFile, containerdconf.Trial(version, imported...)); err != nil {
		return "", err
	}
	after, err := i.dump(ctx, at, trialFile)
	if err == nil {
		err = containerdconf.Check(before, after)
	}
	return text, errors.Join(err, i.files.remove(trialFile), i.files.remove(trialDropIn))
}

// place writes the drop-in file. It then runs `containerd config dump` to find out whether
// containerd reads the drop-in file. Without a list of imports in the main configuration file,
// containerd may read no drop-in files (containerd 2.4.2 reads none). If containerd does not read
// the file, place adds an import of the drop-in file to the main configuration file.
func (i *Installer) place(ctx context.Context, at place, before containerdconf.Dump, text string) error {
	if err := i.makeDir(path.Dir(dropIn(at.Main))); err != nil {
		return err
	}
	if err := i.files.replace(dropIn(at.Main), text); err != nil {
		return err
	}
	after, err := i.dump(ctx, at, at.Main)
	if err == nil && containerdconf.Check(before, after) == nil {
		return nil
	}
	if err != nil {
		return err
	}
	if err := i.files.addImport(at.Main); err != nil {
		return err
	}
	if after, err = i.dump(ctx, at, at.Main); err != nil {
		return err
	}
	return containerdconf.Check(before, after)
}

func (i *Installer) makeDir(dir string) error {
	i.step("make " + dir)
	if err := i.Root.MkdirAll(inside(dir), 0o755); err != nil {
		return err
	}
	return i.files.sync(path.Dir(dir))
}

// restart restarts containerd with the new configuration files, and waits until containerd works.
// If containerd does not work within Options.Timeout, restart restores the old files.
func (i *Installer) restart(ctx context.Context, at place, j journal) error {
	i.Log.Info("restarting containerd with the required plugin", "file", dropIn(at.Main))
	i.step("restart")
	err := i.Service.Restart(ctx)
	if err == nil {
		i.step("await")
		err = i.await(ctx, i.Serves, i.Connected)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		j.Phase = installed
		return i.files.save(j)
	}
	j.Phase, j.Reason = reverting, err.Error()
	if err := i.files.save(j); err != nil {
		return err
	}
	return i.revert(ctx, at, j)
}

// revert restores the old configuration files after a failed installation, and restarts containerd
// with them.
func (i *Installer) revert(ctx context.Context, at place, j journal) error {
	i.Log.Info("restoring the old configuration of containerd", "reason", j.Reason)
	if err := i.goBack(ctx, at, j); err != nil {
		return fmt.Errorf("%s; and the old configuration of containerd is not in force yet: %w", j.Reason, err)
	}
	j.Phase = failed
	return errors.Join(failure(j), i.files.save(j))
}

func failure(j journal) error {
	return fmt.Errorf("containerd did not work with the required plugin, and has its old configuration again: %s; delete this pod to try again", j.Reason)
}

// remove restores the old configuration files for Undo, restarts containerd and empties the
// journal.
func (i *Installer) remove(ctx context.Context, at place, j journal) error {
	i.Log.Info("removing the required plugin from containerd's configuration", "file", dropIn(at.Main))
	if err := i.goBack(ctx, at, j); err != nil {
		return err
	}
	return i.files.save(journal{})
}

// goBack restores the old configuration files, and restarts containerd with them.
func (i *Installer) goBack(ctx context.Context, at place, j journal) error {
	if err := i.files.takeBack(at.Main, j.MadeDir); err != nil {
		return err
	}
	if _, err := i.dump(ctx, at, at.Main); err != nil {
		return err
	}
	i.step("restart")
	if err := i.Service.Restart(ctx); err != nil {
		return err
	}
	i.step("await")
	return i.await(ctx, i.Serves)
}

// forget restores the old configuration files and removes the journal. It does not restart
// containerd, because containerd still runs with the old configuration.
func (i *Installer) forget(at place, j journal) error {
	if err := i.files.takeBack(at.Main, j.MadeDir); err != nil {
		return err
	}
	return i.files.save(journal{})
}

func (i *Installer) dump(ctx context.Context, at place, main string) (containerdconf.Dump, error) {
	text, err := i.Binary.Dump(ctx, at.Program, main)
	if err != nil {
		return nil, fmt.Errorf("containerd cannot read its configuration: %w", err)
	}
	return containerdconf.ReadDump(text)
}

const (
	awaitEvery = time.Second
	// settled is how many times in a row the method `await` must see all checks pass. Once is not
	// enough, because the agent may take 3 s to notice that it has lost its connection to containerd.
	settled = 6
)

// await waits until all checks have passed several times in a row (see the constant `settled`).
// After Options.Timeout, it returns the error of the last check that failed.
func (i *Installer) await(ctx context.Context, checks ...func(context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, i.Timeout)
	defer cancel()
	last := errors.New("no check has ended")
	for passed, n := 0, int(i.Timeout/awaitEvery); n > 0; n-- {
		err := error(nil)
		for _, check := range checks {
			if err = check(within); err != nil {
				break
			}
		}
		if within.Err() != nil {
			break
		}
		if passed++; err != nil {
			last, passed = err, 0
		}
		if passed == settled {
			return nil
		}
		i.sleep(awaitEvery)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%s after its restart: %w", i.Timeout, last)
}
