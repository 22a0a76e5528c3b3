package kubeapi

import (
	"crypto/tls"
	"fmt"
	"time"

	"k8s.io/client-go/util/cert"
)

// lifetime is the lifetime of a certificate. It is longer than any process runs.
const lifetime = 10 * 365 * 24 * time.Hour

// SelfSigned returns a new certificate for a host, and its PEM for clients. The key stays in this
// process, and a restart makes another one, so no key has to be stored or renewed, or can be
// stolen.
func SelfSigned(host string) (tls.Certificate, []byte, error) {
	pem, key, err := cert.GenerateSelfSignedCertKeyWithOptions(cert.SelfSignedCertKeyOptions{Host: host, MaxAge: lifetime})
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("create a certificate for %s: %w", host, err)
	}
	pair, err := tls.X509KeyPair(pem, key)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("read the certificate for %s: %w", host, err)
	}
	return pair, pem, nil
}
