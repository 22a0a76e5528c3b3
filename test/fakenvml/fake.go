// Package fakenvml provides tests with a fake of NVIDIA's management library (NVML). The fake is a
// shared library in C, which is loaded like the real one. It reports the GPUs that a text file
// describes, such as eight.layout.
//
//	fake := fakenvml.New(t, fakenvml.Eight)
//	driver, err := nvml.Open(nvml.Options{Library: fake.Library})
//	fake.Inject("xid GPU-fa4e0006-… 94 1 0")
//
// lib/event.c lists the events that Inject accepts. Outside of tests, the script `build` builds the
// library, and the environment variable NUMALET_FAKE_NVML names the layout file.
package fakenvml

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Eight is the layout file of eight GPUs over four NUMA nodes. Two of the GPUs are in MIG mode.
const Eight = "eight.layout"

// Fake is a built library and its layout file.
type Fake struct {
	Library string // path of libnvidia-ml.so.1
	t       *testing.T
	layout  string
}

// New builds the library, and sets the environment variable that names the layout file. The layout
// file is a copy of the file with the given name in this directory. New skips the test if there is
// no C compiler.
func New(t *testing.T, layout string) *Fake {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc to build the fake libnvidia-ml.so.1 with")
	}
	dir := t.TempDir()
	f := &Fake{Library: filepath.Join(dir, "libnvidia-ml.so.1"), t: t, layout: filepath.Join(dir, "layout")}
	f.touch()
	build := exec.Command(source("build"), f.Library)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the fake: %v\n%s", err, out)
	}
	f.Layout(f.Read(layout))
	t.Setenv("NUMALET_FAKE_NVML", f.layout)
	return f
}

// Path returns the path of a layout file in this directory.
func Path(layout string) string { return source(layout) }

// Read returns the text of a layout file in this directory.
func (f *Fake) Read(name string) string {
	f.t.Helper()
	text, err := os.ReadFile(source(name))
	f.must(err)
	return string(text)
}

// Layout replaces the layout and removes all events. The library reads the layout when it is
// initialized.
func (f *Fake) Layout(text string) {
	f.t.Helper()
	f.must(os.WriteFile(f.layout, []byte(text), 0o600))
	f.must(os.WriteFile(f.events(), nil, 0o600))
}

// Append adds a line to the layout file.
func (f *Fake) Append(line string) {
	f.t.Helper()
	f.add(f.layout, line)
}

// Unload removes the layout file, so that the library behaves as if NVIDIA's kernel driver were not
// loaded.
func (f *Fake) Unload() {
	f.t.Helper()
	f.must(os.Remove(f.layout))
}

// Inject appends a line to the file of events. The library then reports the event.
func (f *Fake) Inject(line string) {
	f.t.Helper()
	f.add(f.events(), line)
}

func (f *Fake) events() string { return f.layout + ".events" }

func (f *Fake) add(path, line string) {
	f.t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	f.must(err)
	defer file.Close()
	_, err = file.WriteString(line + "\n")
	f.must(err)
}

// touch reads all source files of the library. Go's test cache notes the files that a test reads.
// So `go test` runs a test again if one of these files has changed.
func (f *Fake) touch() {
	f.t.Helper()
	sources, err := filepath.Glob(source("lib/*"))
	f.must(err)
	for _, path := range append(sources, source("build")) {
		_, err := os.ReadFile(path)
		f.must(err)
	}
}

func (f *Fake) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// source returns the path of a file in this directory.
func source(name string) string {
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), name)
}
