package client

import (
	"net/http"

	"github.com/google/uuid"
)

// Post sends a POST request without a body and returns the body of the response. If the connection breaks, Post sends the
// request once more; the server recognizes the request by its key. The error is a *Fault with the same exit codes as for Get.
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
