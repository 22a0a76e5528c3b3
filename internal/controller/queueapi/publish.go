package queueapi

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// service is the name of the Service of the queue API, and of the Service's EndpointSlice. The
// Service has no pod selector, because the leader writes the EndpointSlice.
const service = "numalet-queue"

const manager = "numalet-controller" // name of the field manager, and value of the label managed-by of the EndpointSlice

// Host returns the DNS name of the Service of the queue API. The certificate of the server of the
// queue API must be valid for this name.
func Host(namespace string) string { return service + "." + namespace + ".svc" }

// Config returns the TLS configuration of the server of the queue API. The certificate must be
// for the name that Host returns.
func Config(certificate tls.Certificate) *tls.Config {
	// The TLS layer does not verify client certificates. Access verifies them instead, because
	// the CA may change while the server runs.
	return &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
}

// Trust makes the Kubernetes API server trust the certificate of the server of the queue API. It
// writes the certificate to the APIService object of the queue API.
func Trust(ctx context.Context, client dynamic.Interface, pem []byte) error {
	body, err := json.Marshal(map[string]any{"spec": map[string]any{"caBundle": pem}})
	if err != nil {
		return err
	}
	apiServices := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	name := Version + "." + Group
	if _, err := client.Resource(apiServices).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("write the certificate into APIService %s (is deploy/controller/queueapi installed?): %w", name, err)
	}
	return nil
}

// Address writes the leader's address to the EndpointSlice of the Service of the queue API. The
// next leader overwrites the address, so a leader that ends need not remove it.
func Address(ctx context.Context, client dynamic.Interface, namespace, ip string, port int) error {
	family := "IPv4"
	if strings.Contains(ip, ":") {
		family = "IPv6"
	}
	slice := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
		"metadata": map[string]any{
			"name": service, "namespace": namespace,
			"labels": map[string]any{"kubernetes.io/service-name": service, "endpointslice.kubernetes.io/managed-by": manager},
		},
		"addressType": family,
		"endpoints":   []any{map[string]any{"addresses": []any{ip}, "conditions": map[string]any{"ready": true}}},
		"ports":       []any{map[string]any{"name": "https", "port": int64(port), "protocol": "TCP"}},
	}}
	slices := schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
	_, err := client.Resource(slices).Namespace(namespace).Apply(ctx, service, slice, metav1.ApplyOptions{FieldManager: manager, Force: true})
	if err != nil {
		return fmt.Errorf("write the leader's address into EndpointSlice %s/%s: %w", namespace, service, err)
	}
	return nil
}
