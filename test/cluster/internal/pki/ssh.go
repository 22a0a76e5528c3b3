package pki

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"
)

// SSHKey returns the stored OpenSSH key pair with the given name, or creates one. The field Cert of
// the returned Pair is the public key as a line of an authorized_keys file.
func (a *Authority) SSHKey(name string) (Pair, error) {
	pair, err := a.load(name)
	if err == nil {
		return pair, nil
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("make ssh key %q: %w", name, err)
	}
	line, err := ssh.NewPublicKey(public)
	if err != nil {
		return Pair{}, fmt.Errorf("make ssh key %q: %w", name, err)
	}
	block, err := ssh.MarshalPrivateKey(private, name)
	if err != nil {
		return Pair{}, fmt.Errorf("make ssh key %q: %w", name, err)
	}
	pair = Pair{Cert: ssh.MarshalAuthorizedKey(line), Key: pem.EncodeToMemory(block)}
	return pair, a.store(name, pair)
}

// Text reads a stored file of the authority, such as "ssh-client.key".
func (a *Authority) Text(file string) ([]byte, error) {
	return os.ReadFile(filepath.Join(a.Dir, file))
}
