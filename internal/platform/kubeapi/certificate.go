package kubeapi

import (
	"crypto/tls"
	"fmt"
	"time"

	"k8s.io/client-go/util/cert"
)

// lifetime is how long a certificate is valid. Each start of a process makes a new certificate
// (see SelfSigned), and no process runs for that long. So certificates are not renewed.
const lifetime = 10 * 365 * 24 * time.Hour

// SelfSigned returns a new certificate for a host, and the PEM text by which clients verify it.
// The private key stays in the memory of this process, and each start of a process makes a new
// one. So no key has to be stored or renewed, and no stored key can be stolen.
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
