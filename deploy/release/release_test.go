package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/deploy/release/chart"
)

// release writes a release and returns its folder. In place of the program numalet for Linux, it
// uses the program of this test. An arbitrary file would not do, because the bill of materials
// lists the Go modules that the linker recorded in the program.
func release(t *testing.T, version string) (string, error) {
	t.Helper()
	programs, out := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, system := range []string{"linux_amd64", "darwin_arm64"} {
		if err := os.MkdirAll(filepath.Join(programs, system), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(self, filepath.Join(programs, "linux_amd64", "numalet")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(programs, "darwin_arm64", "numalet"), []byte("a program"), 0o755); err != nil {
		t.Fatal(err)
	}
	o := options{version: version, image: "example.com/numalet", url: "https://example.com/" + version, chart: "../chart", programs: programs, out: out}
	if err := o.write(); err != nil {
		return "", err
	}
	return out, sums(out)
}

// read returns the checksum of each file in a folder, by the name of the file.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[file.Name()] = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	return all
}

func TestEqualInputGivesEqualFiles(t *testing.T) {
	first, err := release(t, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	second, err := release(t, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	got := read(t, first)
	if diff := cmp.Diff(got, read(t, second)); diff != "" {
		t.Errorf("two releases differ (-first +second):\n%s", diff)
	}
	for _, name := range []string{"numalet-1.2.3.tgz", "numalet.yaml", "namespace.yaml", "kubectl-numalet_linux_amd64.tar.gz", "kubectl-numalet_darwin_arm64.tar.gz", "numalet.krew.yaml", "numalet.cdx.json", sumsFile} {
		if got[name] == "" {
			t.Errorf("the release lacks %s", name)
		}
	}
}

// TestPackedChart checks that the packed chart can be rendered. It must contain the files to
// which the symbolic links of deploy/chart point.
func TestPackedChart(t *testing.T) {
	dir, err := release(t, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	packed, err := chart.LoadArchive(filepath.Join(dir, "numalet-1.2.3.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := chart.Render(packed, chart.Target{Release: "numalet", Namespace: "numalet-system"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if packed.Metadata.Version != "1.2.3" || !strings.Contains(rendered["controller.yaml"], "image: example.com/numalet:v1.2.3\n") {
		t.Errorf("version %s, and the controller is\n%s", packed.Metadata.Version, rendered["controller.yaml"])
	}
	plain, err := os.ReadFile(filepath.Join(dir, "numalet.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(plain), chart.Join(rendered)) {
		t.Error("the plain manifests are not those of the packed chart")
	}
}

func TestVersionsAreOfTags(t *testing.T) {
	for _, version := range []string{"", "1.2.3", "v1.2", "v1.2.3-4-gabcdef dirty"} {
		if _, err := release(t, version); err == nil {
			t.Errorf("released %q", version)
		}
	}
}

func TestSignature(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	key, file := filepath.Join(dir, "key.pem"), filepath.Join(dir, sumsFile)
	for path, data := range map[string][]byte{key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), file: []byte("text")} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := sign(file, key); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file + ".sig")
	if err != nil {
		t.Fatal(err)
	}
	signed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || !ed25519.Verify(public, []byte("text"), signed) {
		t.Errorf("the signature does not verify: %v", err)
	}
	if err := sign(file, file); err == nil {
		t.Error("signed with a text that is no key")
	}
}
