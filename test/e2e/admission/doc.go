// Package admission tests the policies of deploy/admission and the definitions of
// deploy/crds against the API server that KUBECONFIG names:
//
//	KUBECONFIG=… go test -tags e2e ./test/e2e/admission
//
// It installs both and does not remove them. It removes its pods and custom resources.
package admission
