// Package v1alpha1 is the protocol between a pod's author, the controller and
// the node: names of resources, annotations and labels, and how to read them.
package v1alpha1
