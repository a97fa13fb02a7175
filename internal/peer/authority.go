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
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"mizan/internal/durable"
)

// Names of the files that MakeCertificates writes.
const (
	AuthorityFile = "authority.pem"
	AuthorityKey  = "authority-key.pem"
	keyMode       = 0o600
	pemMode       = 0o644
)

// lifetime is how long the authority and its certificates are valid. Only the nodes of the cluster trust the authority.
const lifetime = 10 * 365 * 24 * time.Hour

// NodeName is the form of the names of nodes. A name is also a name of files and a name in a certificate.
var NodeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// CertificateFile and KeyFile return the names of a node's files.
func CertificateFile(node string) string { return node + ".pem" }

// KeyFile returns the name of the file with a node's private key.
func KeyFile(node string) string { return node + "-key.pem" }

// MakeCertificates makes a certificate for each node, and writes the certificates to a directory. If the directory has no
// authority, MakeCertificates makes that first. Whoever has the key of the authority can make further nodes, so the key should
// leave the directory before the directory is copied to the nodes. Certificates contain no addresses: connections are made by
// the nodes' names.
func MakeCertificates(dir string, nodes []string, now time.Time) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	authority, key, err := openAuthority(dir)
	if _, statErr := os.Lstat(filepath.Join(dir, AuthorityFile)); errors.Is(statErr, fs.ErrNotExist) {
		authority, key, err = makeAuthority(dir, now)
	}
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if err := makeNode(dir, node, authority, key, now); err != nil {
			return err
		}
	}
	return nil
}

// makeAuthority makes the authority, and writes its certificate and its key.
func makeAuthority(dir string, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("peer: %w", err)
	}
	authority := template("Mizan cluster authority", now)
	authority.IsCA, authority.BasicConstraintsValid, authority.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, &key.PublicKey, key)
	if err != nil {
		return nil, nil, fmt.Errorf("peer: %w", err)
	}
	if err := writeKey(dir, AuthorityKey, key); err != nil {
		return nil, nil, err
	}
	return authority, key, writePEM(dir, AuthorityFile, pemMode, "CERTIFICATE", der)
}

// openAuthority reads the authority's certificate and key.
func openAuthority(dir string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, AuthorityFile), filepath.Join(dir, AuthorityKey))
	if err != nil {
		return nil, nil, fmt.Errorf("peer: the authority: %w", err)
	}
	authority, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, nil, fmt.Errorf("peer: the authority: %w", err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, nil, errors.New("peer: the authority's key has another form")
	}
	return authority, key, nil
}

func writeKey(dir, name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	return writePEM(dir, name, keyMode, "PRIVATE KEY", der)
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
	if err := writeKey(dir, KeyFile(node), key); err != nil {
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
