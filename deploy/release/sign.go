package main

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
)

const sumsFile = "SHA256SUMS"

// sums writes the checksums of all files in a folder to a file, in the format of
// sha256sum.
func sums(dir string) error {
	files, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, file := range files {
		if strings.HasPrefix(file.Name(), sumsFile) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(data), file.Name())
	}
	return os.WriteFile(filepath.Join(dir, sumsFile), []byte(text.String()), 0o644)
}

// sign writes the signature of a file to another file beside it, in base64, as cosign
// sign-blob does.
func sign(file, keyFile string) error {
	pem, err := os.ReadFile(keyFile)
	if err != nil {
		return fmt.Errorf("read the key of the signature: %w", err)
	}
	key, err := cryptoutils.UnmarshalPEMToPrivateKey(pem, cryptoutils.SkipPassword)
	if err != nil {
		return fmt.Errorf("read the key in %s: %w; want a private key in PEM, such as of openssl genpkey -algorithm ed25519", keyFile, err)
	}
	signer, err := signature.LoadSigner(key, crypto.SHA256)
	if err != nil {
		return fmt.Errorf("use the key in %s: %w", keyFile, err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	signed, err := signer.SignMessage(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("sign %s: %w", file, err)
	}
	return os.WriteFile(file+".sig", []byte(base64.StdEncoding.EncodeToString(signed)+"\n"), 0o644)
}
