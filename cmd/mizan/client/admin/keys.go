package admin

import (
	"net/http"

	"mizan/cmd/mizan/client"
)

const keysPath = "/api_keys"

// revokeKey is `mizan admin keys revoke`; the other commands of API keys are in commands.go.
type revokeKey struct {
	ID client.ID `arg:"" help:"The key's id."`
}

// Run is called by kong.
func (c *revokeKey) Run(e *client.Command) error {
	return e.Write(http.MethodDelete, keysPath+"/"+string(c.ID), nil)
}
