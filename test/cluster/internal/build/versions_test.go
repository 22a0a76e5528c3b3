package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVersions checks that every Kubernetes version has a .mod file that requires it and a .sum
// file with its hash. It also checks that the programs of each version have a directory of their
// own in the cache.
func TestVersions(t *testing.T) {
	const source = "../.."
	names := map[string]string{}
	for minor, full := range kubernetesVersions {
		v, err := Versions{Kubernetes: minor}.Check()
		if err != nil {
			t.Fatal(err)
		}
		for ext, want := range map[string]string{
			".mod": "k8s.io/kubernetes " + full + "\n",
			".sum": "k8s.io/kubernetes " + full + " h1:",
		} {
			file := filepath.Join(source, "kubeone", v.module()+ext)
			body, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(body), want) {
				t.Errorf("%s: want %q in it (%v)", file, want, err)
			}
		}
		b := Builder{Source: source, Versions: v}
		name := b.Store.Path(b.kubeone())
		if other := names[name]; other != "" {
			t.Errorf("%s and %s are both %s", minor, other, name)
		}
		names[name] = minor
	}
}

// TestCheckVersions checks the default versions, and that unknown versions are refused.
func TestCheckVersions(t *testing.T) {
	if v, err := (Versions{}).Check(); err != nil || v != DefaultVersions() {
		t.Errorf("no version named: %+v, %v, want the defaults", v, err)
	}
	_, err := Versions{Kubernetes: "1.20"}.Check()
	if want := `no Kubernetes "1.20": there is 1.34, 1.35, 1.36, 1.37`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := (Versions{Containerd: "1.7"}).Check(); err == nil {
		t.Error("containerd 1.7: no error")
	}
}
