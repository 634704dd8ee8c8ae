// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func authority(t *testing.T, name string) (*Authority, *x509.CertPool) {
	t.Helper()
	ca, err := NewAuthority(name)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca.CertificatePEM()) {
		t.Fatal("the authority's certificate cannot be read")
	}
	return ca, pool
}

func parse(t *testing.T, pair *Pair) *x509.Certificate {
	t.Helper()
	parsed, err := x509.ParseCertificate(pair.der)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestServingCertificate(t *testing.T) {
	ca, pool := authority(t, "a")
	pair, err := ca.Serving("s", []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost"})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost"} {
		if _, err := parse(t, pair).Verify(x509.VerifyOptions{Roots: pool, DNSName: host}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if _, err := parse(t, pair).Verify(x509.VerifyOptions{Roots: pool, DNSName: "example.com"}); err == nil {
		t.Error("it is good for a host that it is not for")
	}
}

func TestClientCertificate(t *testing.T) {
	ca, pool := authority(t, "a")
	_, otherPool := authority(t, "b")
	pair, err := ca.Client("me", "one", "two")
	if err != nil {
		t.Fatal(err)
	}
	certificate := parse(t, pair)
	asClient := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if _, err := certificate.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: asClient}); err != nil {
		t.Error(err)
	}
	if _, err := certificate.Verify(x509.VerifyOptions{Roots: otherPool, KeyUsages: asClient}); err == nil {
		t.Error("another authority vouches for it")
	}
	if _, err := certificate.Verify(x509.VerifyOptions{Roots: pool}); err == nil {
		t.Error("it is good for a server")
	}
	if certificate.Subject.CommonName != "me" || !slices.Equal(certificate.Subject.Organization, []string{"one", "two"}) {
		t.Errorf("subject %v", certificate.Subject)
	}
}

func TestPrivateFilesArePrivate(t *testing.T) {
	ca, _ := authority(t, "a")
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "c"), filepath.Join(dir, "k")
	public, private := filepath.Join(dir, "pub"), filepath.Join(dir, "priv")
	if err := ca.Write(cert, key); err != nil {
		t.Fatal(err)
	}
	if err := WriteSigningKey(public, private); err != nil {
		t.Fatal(err)
	}
	if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
		t.Errorf("certificate and key do not fit: %v", err)
	}
	for _, path := range []string{key, private} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want 0600", path, info.Mode(), err)
		}
	}
}
