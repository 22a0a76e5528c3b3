package queueapi

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// discover serves the list of resources of the queue API. The API server requests this list to
// check whether the server of the queue API is available. A standby replica serves the list as
// well: if it was the leader before, the API server still sends requests to it until the next
// leader has written its own address to the EndpointSlice.
func (s Source) discover(w http.ResponseWriter, r *http.Request) {
	if err := s.Allow(r, nil); err != nil {
		refuse(w, err)
		return
	}
	writeJSON(w, http.StatusOK, metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"},
		GroupVersion: Group + "/" + Version,
		APIResources: []metav1.APIResource{
			{Name: Resource, SingularName: "pendingpod", Namespaced: true, Kind: Kind, Verbs: metav1.Verbs{"get", "list"}},
			{Name: Resource + "/" + whatIfResource, Namespaced: true, Kind: "WhatIf", Verbs: metav1.Verbs{"get"}},
		},
	})
}
