package client

import (
	"net/http"

	"github.com/google/uuid"
)

// OpenWriter is Open for a command that writes, such as the closing of a month: with --sandbox it uses the session of
// role admin.
func (f *LedgerFlags) OpenWriter(commandName string, s *Streams) (*Ledger, error) {
	l, err := f.Open(commandName, s)
	if err != nil || f.Sandbox == "" || f.TokenFile != nil {
		return l, err
	}
	sandbox, err := readSandbox(f.Sandbox, "--sandbox")
	if err == nil {
		l.Client.token, err = parseToken(sandbox.SessionToken, "--sandbox")
	}
	if err != nil {
		return nil, l.Misused("%v", err)
	}
	return l, nil
}

// Post sends a write without a body and returns the response's body. If the connection breaks, Post sends the write
// once more; the server recognizes the write by its key. The error is a *Fault, as for Get.
func (l *Ledger) Post(path string) ([]byte, error) {
	if _, err := l.Organization(); err != nil {
		return nil, err
	}
	reply, err := l.Client.Send(Request{Method: http.MethodPost, Path: path, Key: uuid.NewString()})
	if err != nil {
		return nil, l.Failed("%s: %v; if it was done is not known", l.Client.BaseURL, err)
	}
	if reply, err = l.Check(reply); err != nil {
		return nil, err
	}
	return reply.Body, nil
}
