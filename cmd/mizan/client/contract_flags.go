package client

import "errors"

// ContractFlags are the flags of a command that reads an organization's contracts. They name the server and the session.
type ContractFlags struct {
	SessionFlags
	Data *string `name:"data" placeholder:"DIR|FILE" hidden:"" help:"The same as --sandbox."` // the flag's former name
}

// Open returns a client for the server that the flags name. It does not connect to the server. Its token is the token of a
// session.
func (c *ContractFlags) Open() (*Client, error) {
	flags := c.flags(func(b *sandboxFile) string { return b.SessionToken })
	if c.Data != nil {
		if c.Sandbox != nil {
			return nil, errors.New("--data: is the same as --sandbox: give one of them")
		}
		flags.Sandbox, flags.sandboxFlag = c.Data, "--data"
	}
	flags.needsOrganization = true
	return flags.open()
}
