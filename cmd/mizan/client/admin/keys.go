package admin

import (
	"net/http"

	"mizan/cmd/mizan/client"
)

const keysPath = "/api_keys"

// revokeKey is the command `mizan admin keys revoke`. The other commands for API keys are in commands.go.
type revokeKey struct {
	ID client.ID `arg:"" help:"The key's id."`
}

// Run revokes an API key.
func (c *revokeKey) Run(e *client.Command) error {
	return e.Write(http.MethodDelete, keysPath+"/"+string(c.ID), nil)
}
