package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-logr/logr/testr"

	"github.com/numalet/numalet/internal/agent/cgroup"
	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/pkg/cpuset"
)

// TestOnline checks that the agent does not treat a missing or invalid list of online CPUs as a
// list without CPUs.
func TestOnline(t *testing.T) {
	for text, want := range map[string]bool{"0-3\n": true, "\n": false, "all\n": false} {
		if got, ok := online(fstest.MapFS{onlineFile: {Data: []byte(text)}}); ok != want || ok && got.Len() != 4 {
			t.Errorf("online of %q = %v, %v", text, got, ok)
		}
	}
	if _, ok := online(fstest.MapFS{}); ok {
		t.Error("read a file that is not there")
	}
}

// TestOtherCPUsOnline checks that the agent ends after the online CPUs have changed, but not before
// they have stopped changing.
func TestOtherCPUsOnline(t *testing.T) {
	for name, tc := range map[string]struct {
		online []string // at each tick; "" means that the file cannot be read
		ends   bool
	}{
		"as ever":             {[]string{"0-3", "0-3", "0-3"}, false},
		"one is gone":         {[]string{"0-3", "0-2", "0-2"}, true},
		"one came":            {[]string{"0-4", "0-4"}, true},
		"away for a moment":   {[]string{"0-2", "0-3", "0-2", "0-3"}, false},
		"one after the other": {[]string{"0-2", "0-1", "0", "0"}, true},
		"unreadable":          {[]string{"", "", ""}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tick, left := make(chan time.Time), tc.online
			read := func() (cpuset.Set, bool) {
				list := left[0]
				left = left[1:]
				return cpuset.MustParse(list), list != ""
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- untilOthersOnline(ctx, cpuset.MustParse("0-3"), tick, read) }()
			for range tc.online {
				tick <- time.Time{}
			}
			if !tc.ends {
				cancel()
			}
			if err := <-ended; (err != nil) != tc.ends {
				t.Errorf("ended with %v, want an error: %v", err, tc.ends)
			}
		})
	}
}

// TestKubeletWithoutSomeCPUs checks that CPUs outside of the kubelet's cgroup count as offline, and
// that the condition AllCPUsUsable gives the reason.
func TestKubeletWithoutSomeCPUs(t *testing.T) {
	for name, tc := range map[string]struct {
		kubepods string // the CPUs of the kubelet's cgroup; "" if there is no such cgroup
		want     string
		reason   string
	}{
		"all":       {"0-3", "0-3", "AllUsable"},
		"more":      {"0-7", "0-3", "AllUsable"},
		"one less":  {"0-2", "0-2", "KubeletCPUSet"},
		"no cgroup": {"", "0-3", "AllUsable"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			files := map[string]string{"cgroup.controllers": "cpuset\n", onlineFile: "0-3\n"}
			if tc.kubepods != "" {
				files["kubepods.slice/cpuset.cpus.effective"] = tc.kubepods + "\n"
				files["kubepods.slice/cpuset.mems.effective"] = "0\n"
			}
			for name, text := range files {
				path := filepath.Join(root, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			a := &agent{log: testr.New(t)}
			a.cfg.SysfsRoot = root
			var err error
			if a.cgroups, err = cgroup.New(cgroup.Options{Root: root}); err != nil {
				t.Fatal(err)
			}
			m, err := a.restrict(machinetest.Machine(1, 4).Build())
			if err != nil {
				t.Fatal(err)
			}
			now, ok := a.usableNow()
			if got := m.Online().String(); got != tc.want || !ok || now.String() != tc.want {
				t.Errorf("usable: %s, then %s (%v); want %s", got, now, ok, tc.want)
			}
			if c := a.allUsable(); c.Reason != tc.reason {
				t.Errorf("condition %v, want reason %s", c, tc.reason)
			}
		})
	}
}
