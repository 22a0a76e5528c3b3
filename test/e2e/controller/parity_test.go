//go:build e2e

package controller

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/test/hollowcluster"
)

// TestParity runs each case in testdata/parity/*.txt twice: with kube-scheduler and with the
// controller. Both have the same profiles. TestParity checks that both choose the same nodes, and
// give the same reasons for pods that they do not place. The last section of a file has the results
// of kube-scheduler.
//
// The cases leave out four known differences. kube-scheduler also rates nodes by their free
// resources. It spreads the pods of a Service, ReplicaSet or StatefulSet even if they have no
// spread constraints. It preempts pods. It chooses at random among equal nodes.
func TestParity(t *testing.T) {
	w := newWorld(t, 0, hollowcluster.Shape{}, "--reserve-after=none", "--config="+profiles(t, "numalet-scheduler", "")) // no reservations of nodes, because kube-scheduler has none
	w.upstream()
	scenario.Cases(t, "testdata/parity/*.txt", func(t *testing.T, sections []txtar.File) []txtar.File {
		last := len(sections) - 1
		verdicts := sections[last]
		t.Run("kube-scheduler", func(t *testing.T) {
			s := newStage(t, w, "default-scheduler")
			s.play(sections[:last])
			if scenario.Rewrite() {
				verdicts.Data = []byte(s.still())
			}
			s.compare(string(verdicts.Data))
		})
		t.Run("numalet", func(t *testing.T) {
			s := newStage(t, w, "numalet-scheduler")
			s.play(sections[:last])
			s.compare(string(verdicts.Data))
		})
		return []txtar.File{verdicts}
	})
}

// upstream starts kube-scheduler and some controllers of kube-controller-manager: those that bind and
// protect volumes, and those that create ResourceClaims and PersistentVolumeClaims.
func (w *world) upstream() {
	w.Helper()
	controllers := []string{"persistentvolume-binder-controller", "persistentvolumeclaim-protection-controller",
		"persistentvolume-protection-controller", "resourceclaim-controller", "ephemeral-volume-controller"}
	for _, args := range [][]string{
		{"kube-scheduler", "--config=" + profiles(w.T, "default-scheduler", w.File("kube-scheduler.kubeconfig")), "--secure-port=0", "--leader-elect=false"},
		{"kube-controller-manager", "--kubeconfig=" + w.Kubeconfig, "--secure-port=0", "--leader-elect=false",
			"--controllers=" + strings.Join(controllers, ",")},
	} {
		process, err := w.Start(args[0], filepath.Join(w.Bin, "kubeone"), args...)
		w.must(err)
		w.Cleanup(func() { _ = process.Stop(10 * time.Second) })
	}
}

// The method `still` waits until every pod has a verdict, which is a node or a reason why the pod
// has none. It then waits until no verdict has changed for 3 s. It returns all verdicts in the
// format of the method `verdicts`.
func (s *stage) still() string {
	s.Helper()
	s.awaitVerdicts()
	for last, since := s.verdicts(), time.Now(); ; time.Sleep(100 * time.Millisecond) {
		now := s.verdicts()
		if now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) > 3*time.Second {
			return now
		}
	}
}

// compare waits until the verdicts of the pods (see the method `still`) equal the argument `want`,
// and are the same a second later. It fails the test if this does not happen within 40 s.
func (s *stage) compare(want string) {
	s.Helper()
	got := ""
	for deadline := time.Now().Add(40 * time.Second); time.Now().Before(deadline); {
		if got = s.verdicts(); got != want {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if time.Sleep(time.Second); s.verdicts() == want {
			return
		}
	}
	s.Errorf("verdicts (-want +got):\n%s", cmp.Diff(want, got))
}

// plain changes a message about an unschedulable pod. It removes text that only kube-scheduler
// adds, such as text about preemption. It sorts the reasons with their counts.
func plain(message string) string {
	for _, end := range []string{" preemption:", " still not schedulable,", " no new claims to deallocate,", " not found"} {
		message, _, _ = strings.Cut(message, "."+end)
	}
	what, counted, ok := strings.Cut(strings.TrimSuffix(message, "."), ": ")
	if !ok {
		return message
	}
	parts := strings.Split(counted, ", ")
	slices.Sort(parts)
	return what + ": " + strings.Join(parts, ", ")
}

// profiles writes a copy of testdata/profiles.yaml and returns its path. In the copy, the name of
// each profile begins with the name of the scheduler and a dash. The argument `kubeconfig` is the
// path of kube-scheduler's kubeconfig, or "" if the copy is for the controller. The copy for
// kube-scheduler also contains this path, and a profile whose name is only the name of the
// scheduler. In the copy for the controller, such a profile would replace the controller's default
// profile.
func profiles(t *testing.T, scheduler, kubeconfig string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/profiles.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config := strings.ReplaceAll(string(text), "schedulerName: +", "schedulerName: "+scheduler+"-")
	if kubeconfig != "" {
		config += "- schedulerName: " + scheduler + "\nclientConnection: {kubeconfig: " + kubeconfig + "}\n"
	}
	file := filepath.Join(t.TempDir(), scheduler+".yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
