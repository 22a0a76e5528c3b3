// Package admission tests the policies of deploy/admission against the API
// server that KUBECONFIG names:
//
//	KUBECONFIG=… go test -tags e2e ./test/e2e/admission
//
// It installs the policies and leaves them there; of pods it leaves none.
package admission
