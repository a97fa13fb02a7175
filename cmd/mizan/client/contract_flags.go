package client

// ContractFlags name the server, and the session, of a command that reads an
// organization's contracts.
type ContractFlags struct {
	URL          *string `name:"url" placeholder:"URL" help:"The server, scheme and host only (default https://127.0.0.1:8443) ($MIZAN_URL)."`
	TokenFile    *string `name:"session-token-file" placeholder:"FILE" help:"File with a session's token; - is stdin ($MIZAN_SESSION_TOKEN has the token itself)."`
	CAFile       *string `name:"ca-file" placeholder:"FILE" help:"Certificates (PEM) to trust, and no others; the system's if absent ($MIZAN_CA_FILE)."`
	Organization *string `name:"organization" placeholder:"ID" help:"The session's organization ($MIZAN_ORGANIZATION)."`
	Data         string  `name:"data" placeholder:"DIR|FILE" help:"Take all of these from a sandbox's data directory, or from its sandbox.json."`
}

// Open resolves the flags as AdminFlags.Open does, but with a session's token.
func (c *ContractFlags) Open() (*Client, error) {
	return serverFlags{
		url: c.URL, tokenFile: c.TokenFile, caFile: c.CAFile, organization: c.Organization, sandbox: c.Data, sandboxFlag: "--data",
		token: sessionToken(func(b *sandboxFile) string { return b.SessionToken }), needsOrganization: true,
	}.open()
}
