package queueapi

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// authority is a CA that signs client certificates.
type authority struct {
	*testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{T: t}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	pair := a.sign(template)
	a.cert, a.key = pair.Leaf, pair.PrivateKey.(*ecdsa.PrivateKey)
	return a
}

// sign makes a key pair, and signs a certificate for it with the key of the authority. The first
// call, while a.cert is nil, makes the certificate of the authority itself, which is self-signed.
func (a *authority) sign(template *x509.Certificate) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = template, key
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		a.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		a.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func (a *authority) client(name string) []tls.Certificate {
	return []tls.Certificate{a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})}
}

// cluster returns a client of a fake API server. The API server trusts front-proxy certificates
// that the authority has signed. It allows the user ann everything in the namespace team.
func (a *authority) cluster(reviewed *[]authorizationv1.SubjectAccessReviewSpec) *fake.Clientset {
	client := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: trustNamespace, Name: trustName},
		Data: map[string]string{
			"requestheader-client-ca-file":       string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})),
			"requestheader-allowed-names":        `["front-proxy"]`,
			"requestheader-username-headers":     `["X-Remote-User"]`,
			"requestheader-group-headers":        `["X-Remote-Group"]`,
			"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
		},
	})
	client.PrependReactor("create", "subjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
		*reviewed = append(*reviewed, review.Spec)
		review.Status.Allowed = review.Spec.User == "ann" && review.Spec.ResourceAttributes.Namespace == "team"
		return true, review, nil
	})
	return client
}

// TestAccess checks that only the API server may name the user of a request, and that a
// SubjectAccessReview decides what this user may read.
func TestAccess(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	var reviewed []authorizationv1.SubjectAccessReviewSpec
	access, err := NewAccess(ours.cluster(&reviewed))
	if err != nil {
		t.Fatal(err)
	}
	go access.Run(t.Context())
	namespace := "team"
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var wish *authorizationv1.ResourceAttributes
		if namespace != "" {
			wish = &authorizationv1.ResourceAttributes{Verb: "list", Resource: Resource, Namespace: namespace}
		}
		if err := access.Allow(r, wish); err != nil {
			refuse(w, err)
		}
	}))
	server.TLS = Config(ours.client("server")[0])
	server.StartTLS()
	defer server.Close()
	for deadline := time.Now().Add(20 * time.Second); len(access.ca.CurrentCABundleContent()) == 0 || len(access.names.UsernameHeaders()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the ConfigMap was not read")
		}
	}
	for name, tc := range map[string]struct {
		by        []tls.Certificate
		user      string
		namespace string
		want      metav1.StatusReason
	}{
		"allowed":                      {ours.client("front-proxy"), "ann", "team", ""},
		"another namespace":            {ours.client("front-proxy"), "ann", "other", metav1.StatusReasonForbidden},
		"another user":                 {ours.client("front-proxy"), "bob", "team", metav1.StatusReasonForbidden},
		"discovery":                    {ours.client("front-proxy"), "bob", "", ""},
		"no user":                      {ours.client("front-proxy"), "", "team", metav1.StatusReasonUnauthorized},
		"no certificate":               {nil, "ann", "team", metav1.StatusReasonUnauthorized},
		"no certificate, discovery":    {nil, "ann", "", metav1.StatusReasonUnauthorized},
		"certificate of somebody else": {ours.client("kubelet"), "ann", "team", metav1.StatusReasonUnauthorized},
		"another authority":            {others.client("front-proxy"), "ann", "team", metav1.StatusReasonUnauthorized},
	} {
		namespace = tc.namespace
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: tc.by}}}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Remote-User", tc.user)
		request.Header.Set("X-Remote-Group", "devs")
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		var got metav1.StatusReason
		if response.StatusCode != http.StatusOK {
			got = apierrors.ReasonForError(failure(response, response.Body))
		}
		response.Body.Close()
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: reason (-want +got):\n%s", name, diff)
		}
	}
	for _, r := range reviewed {
		if diff := cmp.Diff([]string{"devs"}, r.Groups); diff != "" || r.ResourceAttributes.Verb != "list" {
			t.Errorf("asked %+v, groups (-want +got):\n%s", r, diff)
		}
	}
}
