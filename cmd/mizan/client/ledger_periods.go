package client

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
		l.Client.token, err = tokenIn(box.SessionToken, "--sandbox")
	}
	if err != nil {
		return nil, l.Misused("%v", err)
	}
	return l, nil
}

// Post writes without a body, and is given the answer. Where the connection breaks it
// is sent once more: the server knows it by its key. The error is a *Fault, as Get's.
func (l *Ledger) Post(path string) ([]byte, error) {
	if _, err := l.Organization(); err != nil {
		return nil, err
	}
	a, err := l.Client.Send(Request{Method: http.MethodPost, Path: path, Key: uuid.NewString()})
	if err != nil {
		return nil, l.Failed("%s: %v; if it was done is not known", l.Client.Base, err)
	}
	if a, err = l.Check(a); err != nil {
		return nil, err
	}
	return a.Body, nil
}
