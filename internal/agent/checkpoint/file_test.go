package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

type value struct {
	BootID string            `json:"bootID"`
	Held   map[string]string `json:"held"`
}

func TestSaveThenLoad(t *testing.T) {
	file := File[value]{Path: filepath.Join(t.TempDir(), "checkpoint.json")}
	for _, want := range []value{
		{BootID: "a", Held: map[string]string{"p": "0-3"}},
		{BootID: "b"},
	} {
		if err := file.Save(want); err != nil {
			t.Fatal(err)
		}
		got, err := file.Load()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("loaded value (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"checkpoint.json"}, names(t, filepath.Dir(file.Path))); diff != "" {
		t.Errorf("files left behind (-want +got):\n%s", diff)
	}
}

func TestLoadWithoutFile(t *testing.T) {
	_, err := File[value]{Path: filepath.Join(t.TempDir(), "none")}.Load()
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrDamaged) {
		t.Errorf("Load() = %v, want fs.ErrNotExist", err)
	}
}

func TestLoadSetsDamagedAside(t *testing.T) {
	for name, damage := range map[string]func(text string) string{
		"empty":            func(string) string { return "" },
		"zeros":            func(s string) string { return strings.Repeat("\x00", len(s)) },
		"torn":             func(s string) string { return s[:len(s)/2] },
		"edited":           func(s string) string { return strings.Replace(s, "0-3", "0-4", 1) },
		"not an envelope":  func(string) string { return `[1,2]` },
		"content mistyped": func(string) string { return `{"version":1,"sha256":"` + sum([]byte(`[]`)) + `","content":[]}` },
	} {
		t.Run(name, func(t *testing.T) {
			file := File[value]{Path: filepath.Join(t.TempDir(), "checkpoint.json")}
			if err := file.Save(value{Held: map[string]string{"p": "0-3"}}); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file.Path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file.Path, []byte(damage(string(text))), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := file.Load()
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("Load() error = %v, want ErrDamaged", err)
			}
			if diff := cmp.Diff(value{}, got); diff != "" {
				t.Errorf("damaged value leaked (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"checkpoint.json" + DamagedSuffix}, names(t, filepath.Dir(file.Path))); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if err := file.Save(value{}); err != nil {
				t.Errorf("Save() after damage = %v", err)
			}
		})
	}
}

// TestLoadNamesAnotherVersion checks that Load returns ErrVersion for a file of another format
// version. Load must leave this file as it is, so that the release that wrote the file can still
// read it.
func TestLoadNamesAnotherVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoint.json")
	for _, text := range []string{`{"version":2,"sha256":"","content":{}}`, `{"version":2,"entries":[]}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := File[value]{Path: path}.Load()
		if !errors.Is(err, ErrVersion) || errors.Is(err, ErrDamaged) || !strings.Contains(fmt.Sprint(err), "version 2, and this release reads version 1") {
			t.Errorf("Load() of %s = %v, want ErrVersion with both versions", text, err)
		}
		if diff := cmp.Diff([]string{"checkpoint.json"}, names(t, filepath.Dir(path))); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	}
}

func TestSaveSaysWhere(t *testing.T) {
	err := File[value]{Path: "/nowhere/at/all/checkpoint.json"}.Save(value{})
	if err == nil || !strings.Contains(err.Error(), "save checkpoint /nowhere/at/all/checkpoint.json") {
		t.Errorf("Save() = %v, want an error that names the file", err)
	}
}

func TestBootID(t *testing.T) {
	root := fstest.MapFS{"proc/sys/kernel/random/boot_id": {Data: []byte("5b1c\n")}}
	if got, err := BootID(root); got != "5b1c" || err != nil {
		t.Errorf("BootID() = %q, %v", got, err)
	}
	if _, err := BootID(fstest.MapFS{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("BootID() without /proc = %v, want fs.ErrNotExist", err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
