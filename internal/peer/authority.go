package peer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"mizan/internal/durable"
)

// Names of the files that MakeCertificates writes.
const (
	AuthorityFile = "authority.pem"
	keyMode       = 0o600
	pemMode       = 0o644
)

// lifetime is how long the authority and its certificates are valid. Only the nodes of the cluster trust the authority.
const lifetime = 10 * 365 * 24 * time.Hour

// CertificateFile and KeyFile return the names of a node's files.
func CertificateFile(node string) string { return node + ".pem" }

// KeyFile returns the name of the file with a node's private key.
func KeyFile(node string) string { return node + "-key.pem" }

// MakeCertificates makes an authority and a certificate for each node, and writes them to a directory. The private key of the
// authority is not kept, so nobody can make a further certificate later. Certificates contain no addresses:
// connections are made by the nodes' names.
func MakeCertificates(dir string, nodes []string, now time.Time) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	authority := template("Mizan cluster authority", now)
	authority.IsCA, authority.BasicConstraintsValid, authority.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, &authorityKey.PublicKey, authorityKey)
	if err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	if err := writePEM(dir, AuthorityFile, pemMode, "CERTIFICATE", der); err != nil {
		return err
	}
	for _, node := range nodes {
		if err := makeNode(dir, node, authority, authorityKey, now); err != nil {
			return err
		}
	}
	return nil
}

func makeNode(dir, node string, authority *x509.Certificate, authorityKey *ecdsa.PrivateKey, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	c := template(node, now)
	c.DNSNames = []string{node}
	c.KeyUsage, c.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, c, authority, &key.PublicKey, authorityKey)
	if err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	if err := writePEM(dir, KeyFile(node), keyMode, "PRIVATE KEY", keyDER); err != nil {
		return err
	}
	return writePEM(dir, CertificateFile(node), pemMode, "CERTIFICATE", der)
}

func template(name string, now time.Time) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // crypto/rand never fails
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime),
	}
}

func writePEM(dir, name string, mode os.FileMode, kind string, der []byte) error {
	if err := durable.Replace(filepath.Join(dir, name), mode, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})); err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	return nil
}

// ReadIdentity reads a node's certificate and key, and the authority, from a directory that MakeCertificates has made.
func ReadIdentity(dir, node string) (id Identity, err error) {
	if id.Certificate, err = tls.LoadX509KeyPair(filepath.Join(dir, CertificateFile(node)), filepath.Join(dir, KeyFile(node))); err != nil {
		return id, fmt.Errorf("peer: the certificate of node %s: %w", node, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, AuthorityFile))
	if err != nil {
		return id, fmt.Errorf("peer: %w", err)
	}
	id.Authority = x509.NewCertPool()
	if !id.Authority.AppendCertsFromPEM(b) {
		return id, errors.New("peer: " + filepath.Join(dir, AuthorityFile) + " has no certificate")
	}
	leaf, err := x509.ParseCertificate(id.Certificate.Certificate[0])
	if err != nil {
		return id, fmt.Errorf("peer: %w", err)
	}
	if err := leaf.VerifyHostname(node); err != nil {
		return id, fmt.Errorf("peer: the certificate of node %s: %w", node, err)
	}
	return id, nil
}
