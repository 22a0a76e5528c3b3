package hollowcluster

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Permission is the smallest unit that RBAC grants.
type Permission struct{ Group, Resource, Verb string }

// Record is a proxy of the API server that records which permissions its clients use. RBAC itself
// does not record this, and the API server's audit log would have to be configured.
type Record struct {
	proxy  httputil.ReverseProxy
	server *httptest.Server
	reads  request.RequestInfoFactory

	mu   sync.Mutex
	used map[Permission]bool
}

// Record starts a proxy for a service account, and returns it with the kubeconfig of its
// clients.
func (p *Plane) Record(ctx context.Context, namespace, account string) (*Record, string, error) {
	file, err := p.Account(ctx, namespace, account)
	if err != nil {
		return nil, "", err
	}
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return nil, "", fmt.Errorf("read kubeconfig: %w", err)
	}
	cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	to, err := url.Parse(cluster.Server)
	if err != nil {
		return nil, "", fmt.Errorf("read kubeconfig: %w", err)
	}
	transport, err := rest.TransportFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: cluster.CertificateAuthority, CAData: cluster.CertificateAuthorityData}})
	if err != nil {
		return nil, "", err
	}
	r := &Record{
		reads: request.RequestInfoFactory{APIPrefixes: sets.NewString("apis", "api"), GrouplessAPIPrefixes: sets.NewString("api")},
		used:  map[Permission]bool{},
	}
	r.proxy = httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(out *httputil.ProxyRequest) { out.SetURL(to) }}
	r.server = httptest.NewTLSServer(r) // clients send no token over HTTP
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
	cluster.Server, cluster.CertificateAuthority, cluster.CertificateAuthorityData = r.server.URL, "", certificate
	path := p.File(account + ".recorded.kubeconfig")
	return r, path, clientcmd.WriteToFile(*config, path)
}

// ServeHTTP records a request and forwards it.
func (r *Record) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if info, err := r.reads.NewRequestInfo(q); err == nil && info.IsResourceRequest {
		resource := info.Resource
		if info.Subresource != "" {
			resource += "/" + info.Subresource
		}
		r.mu.Lock()
		r.used[Permission{info.APIGroup, resource, info.Verb}] = true
		r.mu.Unlock()
	}
	r.proxy.ServeHTTP(w, q)
}

// Used reports whether a client used a permission.
func (r *Record) Used(p Permission) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used[p]
}

// Close ends all connections.
func (r *Record) Close() {
	r.server.CloseClientConnections()
	r.server.Close()
}
