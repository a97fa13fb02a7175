package certificates

import (
	"crypto/tls"
	"sync/atomic"
)

// Files provides the certificate that an operator keeps in two PEM files: the chain and its key.
type Files struct {
	pair atomic.Pointer[tls.Certificate]
}

// OpenFiles reads the two files.
func OpenFiles(chain, key string) (*Files, error) {
	f := new(Files)
	if err := f.Load(chain, key); err != nil {
		return nil, err
	}
	return f, nil
}

// Load reads the two files and uses the certificate for connections that begin from now on. If that fails, the previous
// certificate stays in use.
func (f *Files) Load(chain, key string) error {
	pair, err := tls.LoadX509KeyPair(chain, key)
	if err != nil {
		return err
	}
	f.pair.Store(&pair)
	return nil
}

// Get implements tls.Config.GetCertificate.
func (f *Files) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.pair.Load(), nil }
