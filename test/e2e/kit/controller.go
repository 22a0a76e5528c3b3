package kit

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Controller starts a numalet-controller beside the control plane, for what
// would take an emulated machine too long, with the identity that
// deploy/controller gives it. It runs until ctx ends; its log and its kubeconfig
// are in dir.
func (c *Cluster) Controller(ctx context.Context, bin, dir string, args ...string) (*exec.Cmd, error) {
	kubeconfig, err := c.identity(ctx, dir)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "controller.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own descriptor
	cmd := exec.CommandContext(ctx, bin, append([]string{"--kubeconfig=" + kubeconfig}, args...)...)
	cmd.Env = append(os.Environ(), "POD_NAMESPACE=numalet-system")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	return cmd, cmd.Start()
}

// identity writes a kubeconfig with a token of the controller's service account.
func (c *Cluster) identity(ctx context.Context, dir string) (file string, err error) {
	token, err := c.API.CoreV1().ServiceAccounts("numalet-system").CreateToken(ctx, "numalet-controller",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("get a token of the controller: %w", err)
	}
	if err := rest.LoadTLSFiles(c.config); err != nil {
		return "", err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["rig"] = &clientcmdapi.Cluster{Server: c.config.Host, CertificateAuthorityData: c.config.CAData}
	config.AuthInfos["controller"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["rig"] = &clientcmdapi.Context{Cluster: "rig", AuthInfo: "controller"}
	config.CurrentContext = "rig"
	file = filepath.Join(dir, "controller.kubeconfig")
	return file, clientcmd.WriteToFile(*config, file)
}
