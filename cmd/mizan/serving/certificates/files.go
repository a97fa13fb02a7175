package certificates

import (
	"crypto/tls"
	"sync/atomic"
)

// Files is a certificate that an operator keeps in two PEM files: the chain and its key.
type Files struct {
	pair atomic.Pointer[tls.Certificate]
}

// OpenFiles reads the two files.
func OpenFiles(chain, key string) (*Files, error) {
	f := new(Files)
	use, err := f.Load(chain, key)
	if err != nil {
		return nil, err
	}
	use()
	return f, nil
}

// Load reads the two files again. The function that it returns puts the new certificate in force, for connections that
// begin after that.
func (f *Files) Load(chain, key string) (use func(), err error) {
	pair, err := tls.LoadX509KeyPair(chain, key)
	if err != nil {
		return nil, err
	}
	return func() { f.pair.Store(&pair) }, nil
}

// Get implements tls.Config.GetCertificate.
func (f *Files) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.pair.Load(), nil }
