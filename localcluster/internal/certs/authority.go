// SPDX-License-Identifier: Apache-2.0

// Package certs makes the keys and certificates of a cluster that lives for an
// hour or a day: authorities, and the serving and client certificates that they
// sign.
//
// All keys are ECDSA P-256; all of them stay in files that only their owner may
// read.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"time"
)

// validity is long enough for any use of a throw-away cluster.
const validity = 365 * 24 * time.Hour

// Authority signs certificates.
type Authority struct {
	Pair

	certificate *x509.Certificate
}

// NewAuthority returns a new authority of that name.
func NewAuthority(name string) (*Authority, error) {
	template, err := newTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return nil, fmt.Errorf("create authority %s: %w", name, err)
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature

	pair, err := sign(template, nil)
	if err != nil {
		return nil, fmt.Errorf("create authority %s: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(pair.der)
	if err != nil {
		return nil, fmt.Errorf("create authority %s: %w", name, err)
	}
	return &Authority{Pair: *pair, certificate: certificate}, nil
}

// LoadAuthority reads an authority that Write has written.
func LoadAuthority(certFile, keyFile string) (*Authority, error) {
	loaded, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("load the authority: %w", err)
	}
	key, ok := loaded.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("load the authority: %s holds a key of type %T", keyFile, loaded.PrivateKey)
	}
	return &Authority{Pair: Pair{der: loaded.Certificate[0], key: key}, certificate: loaded.Leaf}, nil
}

// Client returns a certificate that authenticates this user, a member of these
// groups, to the API server.
func (a *Authority) Client(user string, groups ...string) (*Pair, error) {
	template, err := newTemplate(pkix.Name{CommonName: user, Organization: groups})
	if err != nil {
		return nil, fmt.Errorf("issue a client certificate for %s: %w", user, err)
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return sign(template, a)
}

// Serving returns a certificate for a server that is reached at these addresses
// and host names. It is valid for a client too: etcd's peers are both.
func (a *Authority) Serving(name string, addresses []net.IP, hosts []string) (*Pair, error) {
	template, err := newTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return nil, fmt.Errorf("issue a serving certificate for %s: %w", name, err)
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.IPAddresses = addresses
	template.DNSNames = hosts
	return sign(template, a)
}

func newTemplate(subject pkix.Name) (*x509.Certificate, error) {
	const serialBits = 120
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-time.Minute), // clocks may be set back a little
		NotAfter:     now.Add(validity),
	}, nil
}

// sign makes a key and a certificate for it; without an issuer, it signs itself.
func sign(template *x509.Certificate, issuer *Authority) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate a key for %s: %w", template.Subject.CommonName, err)
	}
	parent, signer := template, key
	if issuer != nil {
		parent, signer = issuer.certificate, issuer.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %s: %w", template.Subject.CommonName, err)
	}
	return &Pair{der: der, key: key}, nil
}
