// Package pki creates the certificates of a test cluster: one certificate authority, and a leaf
// certificate for each component. The certificates are valid for ten years and stored in files.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const lifetime = 10 * 365 * 24 * time.Hour

// Pair is a certificate and its key, both PEM.
type Pair struct{ Cert, Key []byte }

// Leaf has the names and addresses for the certificate of a component.
type Leaf struct {
	Name   string // file name and, unless Common is set, common name
	Common string
	Group  string // organization: a Kubernetes group
	DNS    []string
	IPs    []net.IP
}

// Authority is a certificate authority. It signs leaf certificates and stores them in the directory
// Dir.
type Authority struct {
	Dir string
	Pair
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Open loads the certificate authority in dir, or creates one.
func Open(dir string) (*Authority, error) {
	a := &Authority{Dir: dir}
	pair, err := a.load("ca")
	if errors.Is(err, fs.ErrNotExist) {
		pair, err = a.make()
	}
	if err != nil {
		return nil, fmt.Errorf("open authority %s: %w", dir, err)
	}
	a.Pair = pair
	return a, a.parse()
}

// Issue returns the stored certificate with the name l.Name. If there is none, it creates and
// stores one.
func (a *Authority) Issue(l Leaf) (Pair, error) {
	pair, err := a.load(l.Name)
	if err == nil {
		return pair, nil
	}
	template := &x509.Certificate{
		Subject:     subject(l),
		DNSNames:    l.DNS,
		IPAddresses: l.IPs,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	pair, err = sign(template, a.cert, a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("issue certificate %q: %w", l.Name, err)
	}
	return pair, a.store(l.Name, pair)
}

func subject(l Leaf) pkix.Name {
	n := pkix.Name{CommonName: l.Common}
	if l.Common == "" {
		n.CommonName = l.Name
	}
	if l.Group != "" {
		n.Organization = []string{l.Group}
	}
	return n
}

func (a *Authority) make() (Pair, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "numalet-rig"},
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	pair, err := sign(template, nil, nil)
	if err != nil {
		return Pair{}, err
	}
	return pair, a.store("ca", pair)
}

func (a *Authority) parse() (err error) {
	certDER, _ := pem.Decode(a.Cert)
	keyDER, _ := pem.Decode(a.Key)
	if certDER == nil || keyDER == nil {
		return fmt.Errorf("parse authority in %s: no PEM", a.Dir)
	}
	if a.cert, err = x509.ParseCertificate(certDER.Bytes); err != nil {
		return fmt.Errorf("parse authority in %s: %w", a.Dir, err)
	}
	a.key, err = x509.ParseECPrivateKey(keyDER.Bytes)
	return err
}

func (a *Authority) load(name string) (p Pair, err error) {
	base := filepath.Join(a.Dir, name)
	if p.Key, err = os.ReadFile(base + ".key"); err != nil {
		return p, err
	}
	p.Cert, err = os.ReadFile(base + ".crt")
	return p, err
}

func (a *Authority) store(name string, p Pair) error {
	if err := os.MkdirAll(a.Dir, 0o700); err != nil {
		return err
	}
	base := filepath.Join(a.Dir, name)
	if err := os.WriteFile(base+".crt", p.Cert, 0o644); err != nil {
		return err
	}
	return os.WriteFile(base+".key", p.Key, 0o600)
}

// sign creates a key and a certificate for it. The certificate is self-signed if the parameter
// `parent` is nil.
func sign(template, parent *x509.Certificate, by *ecdsa.PrivateKey) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	if parent == nil {
		parent, by = template, key
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return Pair{}, err
	}
	now := time.Now()
	template.NotBefore, template.NotAfter = now.Add(-time.Hour), now.Add(lifetime)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		return Pair{}, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}, nil
}
