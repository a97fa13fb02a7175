package client

import (
	"net/http"

	"github.com/google/uuid"
)

// Post sends a write without a body and returns the response's body. If the connection breaks, Post sends the write
// once more; the server recognizes the write by its key. The error is a *Fault, as for Get.
func (l *Ledger) Post(path string) ([]byte, error) {
	if _, err := l.Organization(); err != nil {
		return nil, err
	}
	reply, err := l.Send(Request{Method: http.MethodPost, Path: path, Key: uuid.NewString()})
	if err != nil {
		return nil, err
	}
	return reply.Body, nil
}
