package certificates

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
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"mizan/cmd/mizan/cli"
	"mizan/internal/assert"
	"mizan/internal/durable"
)

// Names of the files in the directory of the local certificate authority. Clients must trust the certificate in CAFile.
// CertFile and KeyFile contain the server's certificate and its key.
const (
	CAFile     = "ca.pem"
	caKeyFile  = "ca.key"
	CertFile   = "cert.pem"
	KeyFile    = "cert.key"
	maxPEMFile = 64 << 10
)

// Lifetimes and renewal margins of certificates. A certificate is renewed when its remaining lifetime is shorter than the
// margin. The authority's margin is longer than the lifetime of a server certificate, so that no server certificate outlives
// the authority.
const (
	caLife     = 10 * 365 * 24 * time.Hour
	caMargin   = 400 * 24 * time.Hour
	certLife   = 365 * 24 * time.Hour
	certMargin = 30 * 24 * time.Hour
	backdate   = time.Hour // a certificate is valid from this long before its issue, for clients whose clocks are slow
)

// Authority is the local certificate authority of a data directory, together with the server certificate that it issued.
type Authority struct {
	dir   string
	hosts []string
	now   func() time.Time

	ca    *x509.Certificate
	caKey *ecdsa.PrivateKey

	mu                sync.Mutex
	serverCertificate *tls.Certificate
}

// OpenAuthority loads the authority and the server certificate in dir. It creates missing files, and renews certificates that
// expire soon. It replaces a server certificate that names other hosts. If the authority's files are damaged, it returns an
// error, because existing clients would not trust a new authority.
func OpenAuthority(dir string, hosts []string, now func() time.Time) (*Authority, error) {
	slices.Sort(hosts)
	a := &Authority{dir: dir, hosts: slices.Compact(hosts), now: now}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	durable.RemoveLeftovers(dir, CAFile, caKeyFile, CertFile, KeyFile)
	if err := a.openCA(); err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, CertFile), filepath.Join(dir, KeyFile))
	if err == nil && a.isUsable(&pair) {
		a.serverCertificate = &pair
		return a, nil
	}
	// The server certificate can be replaced at any time, because clients trust the authority that signs it.
	return a, a.issueCertificate()
}

// Get implements tls.Config.GetCertificate. If the certificate expires soon, Get renews it first. If the renewal fails, the old
// certificate is used until it expires.
func (a *Authority) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.now().Add(certMargin).After(a.serverCertificate.Leaf.NotAfter) {
		if err := a.issueCertificate(); err != nil && a.now().After(a.serverCertificate.Leaf.NotAfter) {
			return nil, err
		}
	}
	return a.serverCertificate, nil
}

// openCA loads the authority, or creates it.
func (a *Authority) openCA() error {
	key, keyErr := readKey(filepath.Join(a.dir, caKeyFile))
	cert, certErr := readCertificate(filepath.Join(a.dir, CAFile))
	noKey, noCert := errors.Is(keyErr, fs.ErrNotExist), errors.Is(certErr, fs.ErrNotExist)
	switch {
	case noKey && noCert:
		return a.makeCA(nil)
	case keyErr == nil && noCert:
		// If the process was killed after it wrote the key and before it wrote the certificate, only the key exists.
		return a.makeCA(key)
	case keyErr != nil || certErr != nil:
		return fmt.Errorf("%s is damaged (%w): restore it, or delete the folder to make a new authority",
			a.dir, errors.Join(keyErr, certErr))
	case !key.PublicKey.Equal(cert.PublicKey) || !cert.IsCA || cert.CheckSignatureFrom(cert) != nil:
		return fmt.Errorf("%s is damaged (key and certificate do not fit): restore it, or delete the folder to make a new authority", a.dir)
	}
	if a.now().Add(caMargin).After(cert.NotAfter) {
		return a.makeCA(key)
	}
	a.ca, a.caKey = cert, key
	return nil
}

// makeCA makes the authority's certificate. If key is nil, it also makes a new key.
func (a *Authority) makeCA(key *ecdsa.PrivateKey) (err error) {
	if key == nil {
		if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return err
		}
		if err = writeKey(filepath.Join(a.dir, caKeyFile), key); err != nil {
			return err
		}
	}
	template := a.template("Mizan local authority", caLife)
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	if a.ca, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	a.caKey = key
	return writeCertificate(filepath.Join(a.dir, CAFile), der)
}

// issueCertificate makes the server's certificate and signs it with the authority's key.
func (a *Authority) issueCertificate() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := a.template("Mizan", certLife)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range a.hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.ca, key.Public(), a.caKey)
	if err != nil {
		return err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return err
	}
	if err := writeKey(filepath.Join(a.dir, KeyFile), key); err != nil {
		return err
	}
	if err := writeCertificate(filepath.Join(a.dir, CertFile), der); err != nil {
		return err
	}
	a.serverCertificate = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	return nil
}

// isUsable tells whether the authority signed a stored certificate, whether the certificate is valid for long enough, and
// whether it names the server's hosts.
func (a *Authority) isUsable(pair *tls.Certificate) bool {
	leaf := pair.Leaf
	if leaf == nil || leaf.CheckSignatureFrom(a.ca) != nil {
		return false
	}
	if now := a.now(); now.Before(leaf.NotBefore) || now.Add(certMargin).After(leaf.NotAfter) {
		return false
	}
	names := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	slices.Sort(names)
	return slices.Equal(names, canonicalHosts(a.hosts))
}

// canonicalHosts sorts host names and IP addresses and removes duplicates. It formats IP addresses like a parsed certificate,
// so that the hosts in a certificate can be compared with the configured hosts.
func canonicalHosts(hosts []string) []string {
	names := make([]string, len(hosts))
	for i, host := range hosts {
		names[i] = host
		if ip := net.ParseIP(host); ip != nil {
			names[i] = ip.String()
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (a *Authority) template(name string, life time.Duration) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	assert.NoError(err) // rand.Reader never returns an error: if it fails, the process crashes
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name, Organization: []string{"Mizan"}},
		NotBefore:    a.now().Add(-backdate),
		NotAfter:     a.now().Add(life),
	}
}

func readKey(path string) (*ecdsa.PrivateKey, error) {
	der, err := readPEM(path, "EC PRIVATE KEY")
	if err != nil {
		return nil, err
	}
	return x509.ParseECPrivateKey(der)
}

func readCertificate(path string) (*x509.Certificate, error) {
	der, err := readPEM(path, "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func readPEM(path, kind string) ([]byte, error) {
	content, err := cli.ReadFile(path, maxPEMFile)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(content)
	if block == nil || block.Type != kind {
		return nil, fmt.Errorf("%s holds no %s", filepath.Base(path), kind)
	}
	return block.Bytes, nil
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return durable.Replace(path, 0o600, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

func writeCertificate(path string, der []byte) error {
	return durable.Replace(path, 0o644, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
