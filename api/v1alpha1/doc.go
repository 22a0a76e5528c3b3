// Package v1alpha1 is the API between the author of a pod, the controller and the node:
// the names of resources, annotations and labels with their parsers, and the custom
// resources of the group numalet.dev.
//
// +kubebuilder:object:generate=true
// +groupName=numalet.dev
package v1alpha1
