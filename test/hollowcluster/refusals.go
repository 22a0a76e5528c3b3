package hollowcluster

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Refusals is a proxy for the API server. It reports which requests the API server refuses. The API
// server's audit log would also contain the refusals, but an audit log must be configured first.
type Refusals struct {
	proxy   httputil.ReverseProxy
	server  *httptest.Server
	refused func(message string)

	mu   sync.Mutex
	fail map[string]int // HTTP status for the next request that Fail selects; the key is the method and the end of the path, such as "POST /pods/a/binding"
}

// Refusals starts a proxy for the API server of a kubeconfig file. It returns the proxy, and the
// path of a kubeconfig file for clients of the proxy. If a response has the status 403 or 422, the
// proxy first calls the function given as `refused` with the body of the response. Then it sends the
// response to the client.
func (p *Plane) Refusals(file string, refused func(message string)) (*Refusals, string, error) {
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
	r := &Refusals{refused: refused, fail: map[string]int{}}
	r.proxy = httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ModifyResponse: r.read, Rewrite: func(out *httputil.ProxyRequest) { out.SetURL(to) },
	}
	r.server = httptest.NewTLSServer(r) // over HTTP without TLS, clients would send no token
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
	cluster.Server, cluster.CertificateAuthority, cluster.CertificateAuthorityData = r.server.URL, "", certificate
	path := strings.TrimSuffix(file, ".kubeconfig") + ".proxy.kubeconfig"
	return r, path, clientcmd.WriteToFile(*config, path)
}

// Fail makes the proxy answer one request itself, with the given HTTP status. This request is the
// next one that has the given method and whose path ends with the given text.
func (r *Refusals) Fail(method, path string, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail[method+" "+path] = status
}

// ServeHTTP forwards a request to the API server. If Fail has selected the request, ServeHTTP
// answers it itself.
func (r *Refusals) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if status := r.failure(q); status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(status),
			Reason: reasons[status], Message: "the test fails this request",
		})
		return
	}
	r.proxy.ServeHTTP(w, q)
}

var reasons = map[int]metav1.StatusReason{http.StatusConflict: metav1.StatusReasonConflict, http.StatusBadRequest: metav1.StatusReasonBadRequest}

func (r *Refusals) failure(q *http.Request) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, status := range r.fail {
		if method, path, _ := strings.Cut(key, " "); method == q.Method && strings.HasSuffix(q.URL.Path, path) {
			delete(r.fail, key)
			return status
		}
	}
	return 0
}

// read calls the function r.refused if the API server has refused a request (status 403 or 422). It
// leaves the response unchanged.
func (r *Refusals) read(answer *http.Response) error {
	if answer.StatusCode != http.StatusForbidden && answer.StatusCode != http.StatusUnprocessableEntity {
		return nil
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	r.refused(string(body))
	return nil
}

// Close stops the proxy and ends all its connections.
func (r *Refusals) Close() {
	r.server.CloseClientConnections()
	r.server.Close()
}
