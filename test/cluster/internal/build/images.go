package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/numalet/numalet/test/cluster/internal/artefact"
	"github.com/numalet/numalet/test/cluster/internal/image"
)

// images returns the recipe for the two container images that all machines have:
// localhost/pause:rig and localhost/busybox:rig.
func (b Builder) images() artefact.Recipe {
	return artefact.Recipe{
		Name:   "images",
		Inputs: append(sources(filepath.Join(b.Source, "cmd/pause"), "*"), sources(filepath.Join(b.Source, "internal/image"), "*")...),
		Make: func(out string) error {
			if err := b.pauseImage(out); err != nil {
				return err
			}
			return busyboxImage(out)
		},
	}
}

func (b Builder) pauseImage(out string) error {
	program := filepath.Join(out, "pause")
	err := b.run(tool{Dir: b.Source, Env: []string{"CGO_ENABLED=0"}},
		"go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "./cmd/pause")
	if err != nil {
		return err
	}
	defer os.Remove(program)
	return image.Spec{
		Ref:        "localhost/pause:rig",
		Entrypoint: []string{"/bin/pause"},
		Programs:   map[string]string{"/bin/pause": program},
	}.Write(filepath.Join(out, "pause.tar"))
}

func busyboxImage(out string) error {
	applets, err := busyboxApplets()
	if err != nil {
		return err
	}
	links := map[string]string{}
	for _, a := range applets {
		links["/bin/"+a] = "busybox"
	}
	return image.Spec{
		Ref:        "localhost/busybox:rig",
		Entrypoint: []string{"/bin/sh"},
		Programs:   map[string]string{"/bin/busybox": "/bin/busybox"},
		Links:      links,
	}.Write(filepath.Join(out, "busybox.tar"))
}

func busyboxApplets() ([]string, error) {
	list, err := exec.Command("/bin/busybox", "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("list applets of busybox: %w", err)
	}
	var applets []string
	for _, a := range strings.Fields(string(list)) {
		if a != "busybox" {
			applets = append(applets, a)
		}
	}
	return applets, nil
}
