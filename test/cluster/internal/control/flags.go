package control

import (
	"fmt"
	"path/filepath"
)

func (p Plane) etcdArgs() []string {
	return []string{"--data-dir", filepath.Join(p.Run, "etcd"), "--client-url", p.Ports.etcdClient(), "--peer-url", p.Ports.etcdPeer()}
}

func (p Plane) apiserverArgs() []string {
	args := []string{
		"--etcd-servers=" + p.Ports.etcdClient(),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", p.Ports.API),
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + serviceRange,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--client-ca-file=" + p.file("ca.crt"),
		"--tls-cert-file=" + p.file("apiserver.crt"),
		"--tls-private-key-file=" + p.file("apiserver.key"),
		"--kubelet-client-certificate=" + p.file("apiserver-kubelet-client.crt"),
		"--kubelet-client-key=" + p.file("apiserver-kubelet-client.key"),
		"--kubelet-certificate-authority=" + p.file("ca.crt"),
		"--kubelet-preferred-address-types=Hostname",
		"--requestheader-client-ca-file=" + p.file("ca.crt"),
		"--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + p.file("front-proxy.crt"),
		"--proxy-client-key-file=" + p.file("front-proxy.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + p.file("service-accounts.key"),
		"--service-account-signing-key-file=" + p.file("service-accounts.key"),
	}
	if p.Alone {
		// The plugins ServiceAccount and TaintNodesByCondition are disabled. They need controllers
		// of kube-controller-manager, which this control plane lacks: one creates default service
		// accounts, and one removes the initial taint of nodes. The plugin
		// OwnerReferencesPermissionEnforcement is enabled because OpenShift enables it.
		args = append(args, "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
			"--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement")
	}
	return args
}

func (p Plane) schedulerArgs() []string {
	config := filepath.Join(p.Run, "kube-scheduler.kubeconfig")
	return []string{"--kubeconfig=" + config, "--secure-port=0", "--leader-elect=false"}
}

func (p Plane) controllerManagerArgs() []string {
	config := filepath.Join(p.Run, "kube-controller-manager.kubeconfig")
	return []string{
		"--kubeconfig=" + config, "--secure-port=0", "--leader-elect=false",
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + p.file("service-accounts.key"),
		"--root-ca-file=" + p.file("ca.crt"),
	}
}

func (p Plane) file(name string) string { return filepath.Join(p.CA.Dir, name) }
