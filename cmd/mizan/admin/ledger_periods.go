package admin

import (
	"net/http"

	"github.com/google/uuid"
)

// OpenWriter is Open for a command that writes: with --sandbox it comes with the token
// of role admin.
func (f *LedgerFlags) OpenWriter(name string, s *Streams) (*Ledger, error) {
	l, err := f.Open(name, s)
	if err != nil || f.Sandbox == "" || f.TokenFile != nil {
		return l, err
	}
	box, err := readSandbox(f.Sandbox)
	if err == nil {
		l.door.token, err = tokenIn(box.SessionToken, "--sandbox")
	}
	if err != nil {
		return nil, l.misused("%v", err)
	}
	return l, nil
}

// Post writes without a body, and is given the answer. Where the connection breaks it
// is sent once more: the server knows it by its key. The error is a *Fault, as Get's.
func (l *Ledger) Post(path string) ([]byte, error) {
	if _, err := l.Organization(); err != nil {
		return nil, err
	}
	a, err := l.door.ask(request{method: http.MethodPost, path: path, key: uuid.NewString()})
	if err != nil {
		return nil, l.failed("%s: %v; if it was done is not known", l.door.base, err)
	}
	if a, err = l.checked(a); err != nil {
		return nil, err
	}
	return a.body, nil
}
