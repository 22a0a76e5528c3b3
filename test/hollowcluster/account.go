package hollowcluster

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Account writes a kubeconfig for an existing service account and returns its path. The token in
// the kubeconfig is valid for a day. The default namespace is that of the account. Clients that use
// the kubeconfig have only the rights of the account.
func (p *Plane) Account(ctx context.Context, namespace, name string) (string, error) {
	return p.account(ctx, namespace, name, nil)
}

// AccountOf writes a kubeconfig as Account does, for the service account of a pod. The token is
// bound to the pod and so names the pod and its node, like the token that a kubelet mounts into the
// pod.
func (p *Plane) AccountOf(ctx context.Context, pod *corev1.Pod) (string, error) {
	bound := &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
	return p.account(ctx, pod.Namespace, pod.Spec.ServiceAccountName, bound)
}

func (p *Plane) account(ctx context.Context, namespace, name string, bound *authenticationv1.BoundObjectReference) (string, error) {
	client, err := p.API()
	if err != nil {
		return "", err
	}
	day := int64(24 * 60 * 60)
	made, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day, BoundObjectRef: bound}}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("make token of service account %s/%s: %w", namespace, name, err)
	}
	config, err := clientcmd.LoadFromFile(p.Kubeconfig)
	if err != nil {
		return "", fmt.Errorf("read kubeconfig: %w", err)
	}
	current := config.Contexts[config.CurrentContext]
	current.Namespace = namespace
	config.AuthInfos = map[string]*api.AuthInfo{current.AuthInfo: {Token: made.Status.Token}}
	file := p.File(name + ".kubeconfig")
	return file, clientcmd.WriteToFile(*config, file)
}

// Install creates what an administrator creates before the controller starts: the custom resource
// definitions, the namespace, the controller's rights, and the admission policies that confine the
// controller. The applied manifests also contain the controller's Deployment, but no node runs its
// pods.
func (p *Plane) Install(ctx context.Context, repository string) error {
	for _, what := range [][]string{
		{"-k", repository + "/deploy/crds"},
		{"-f", repository + "/deploy/daemonset/namespace.yaml"},
		{"-k", repository + "/deploy/controller"},
		{"-f", repository + "/deploy/admission/controller-writes.yaml"}, // without this policy the controller is not ready
	} {
		if _, err := p.Kubectl(ctx, append([]string{"apply", "--server-side"}, what...)...); err != nil {
			return err
		}
	}
	_, err := p.Kubectl(ctx, "wait", "--for=condition=Established", "crd/nodetopologies.numalet.dev", "--timeout=60s")
	return err
}
