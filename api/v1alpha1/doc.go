// Package v1alpha1 is the API that authors of pods, the controller and the nodes share.
// It has the names of resources, annotations and labels, the parsers of their values,
// and the custom resources of the group numalet.dev.
//
// +kubebuilder:object:generate=true
// +groupName=numalet.dev
package v1alpha1
