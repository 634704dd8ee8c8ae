// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/slipway-k8s/slipway/localcluster/internal/atomicfile"
)

const (
	publicMode  = 0o644
	privateMode = 0o600
)

// Pair is a certificate and its private key.
type Pair struct {
	der []byte
	key *ecdsa.PrivateKey
}

// CertificatePEM is the certificate as a file holds it.
func (p *Pair) CertificatePEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.der})
}

// KeyPEM is the private key as a file holds it.
func (p *Pair) KeyPEM() ([]byte, error) {
	return encodeKey(p.key)
}

// Write writes the certificate and the key to these files.
func (p *Pair) Write(certFile, keyFile string) error {
	key, err := p.KeyPEM()
	if err != nil {
		return err
	}
	if err := atomicfile.Write(keyFile, key, privateMode); err != nil {
		return err
	}
	return atomicfile.Write(certFile, p.CertificatePEM(), publicMode)
}

// WriteSigningKey makes the key that service account tokens are signed with,
// and writes it and its public half to these files.
func WriteSigningKey(publicFile, privateFile string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generate the service account key: %w", err)
	}
	private, err := encodeKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return fmt.Errorf("encode the service account key: %w", err)
	}
	if err := atomicfile.Write(privateFile, private, privateMode); err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	return atomicfile.Write(publicFile, block, publicMode)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
