package hollowcluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Plane is a control plane without nodes, which the program `rig` (test/cluster) starts. For a
// control plane that was started in another way, only Kubeconfig and Dir are needed. The method Down
// cannot stop such a control plane, and the method Kubectl runs the kubectl in PATH.
type Plane struct {
	Rig        string // path of the program `rig`
	Name       string
	Kubeconfig string // path of the administrator's kubeconfig
	Dir        string // for temporary files
	Bin        string // directory of kubectl and kubeone
}

// Up starts the control plane with the given name, or returns it if it runs already.
func Up(ctx context.Context, rig, name string) (*Plane, error) {
	said, err := run(exec.CommandContext(ctx, rig, "plane", "up", name))
	if err != nil {
		return nil, err
	}
	p := &Plane{Rig: rig, Name: name}
	found := regexp.MustCompile(`KUBECONFIG=(.+)\n.*PATH=([^:]+):`).FindStringSubmatch(said)
	if found == nil {
		return nil, fmt.Errorf("start control plane %s: %s said %q", name, rig, said)
	}
	p.Kubeconfig, p.Dir, p.Bin = found[1], filepath.Dir(found[1]), found[2]
	return p, nil
}

// Down stops the control plane and deletes its data.
func (p *Plane) Down() error {
	_, err := run(exec.Command(p.Rig, "plane", "down", p.Name))
	return err
}

// File returns the path of the file with the given name in Dir.
func (p *Plane) File(name string) string { return filepath.Join(p.Dir, name) }

// Kubectl runs kubectl as the administrator and returns its output.
func (p *Plane) Kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(p.Bin, "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.Kubeconfig)
	return run(cmd)
}

// Config returns a client configuration for the administrator, with protobuf and without a rate
// limit.
func (p *Plane) Config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", p.Kubeconfig, err)
	}
	config.QPS = -1
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config, nil
}

// API returns a client with the rights of the administrator.
func (p *Plane) API() (kubernetes.Interface, error) {
	config, err := p.Config()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// run runs a command and returns its standard output. If the command fails, the returned error
// contains the command's standard error.
func run(cmd *exec.Cmd) (string, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("run %s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}
