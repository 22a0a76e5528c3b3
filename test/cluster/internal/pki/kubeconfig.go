package pki

import (
	"encoding/base64"
	"fmt"
)

// Kubeconfig returns a kubeconfig that contains the certificates and the key of a user.
func Kubeconfig(server string, ca []byte, user Pair) []byte {
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: rig
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: user
  user:
    client-certificate-data: %s
    client-key-data: %s
contexts:
- name: rig
  context: {cluster: rig, user: user}
current-context: rig
`, server, b64(ca), b64(user.Cert), b64(user.Key))
}
