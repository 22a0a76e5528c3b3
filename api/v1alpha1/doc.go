// Package v1alpha1 is the protocol between a pod's author, the controller and
// the node: names of resources, annotations and labels and how to read them, and
// the custom resources of the group numalet.dev.
//
// +kubebuilder:object:generate=true
// +groupName=numalet.dev
package v1alpha1
