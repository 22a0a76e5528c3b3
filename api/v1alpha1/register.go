package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion returns the group and version of the custom resources.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: Group, Version: "v1alpha1"}
}

// AddToScheme adds the types of the custom resources to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(),
		&NodeTopology{}, &NodeTopologyList{}, &Tenant{}, &TenantList{}, &Job{}, &JobList{}, &GPUGroup{}, &GPUGroupList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
