// Package admission tests the admission policies of deploy/admission and the custom resource
// definitions of deploy/crds against the API server that KUBECONFIG names:
//
//	KUBECONFIG=… go test -tags e2e ./test/e2e/admission
//
// The tests install the policies and the definitions, and do not remove them. They remove the pods
// and custom resources that they create.
package admission
