package serving

import (
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// announce prints that the server is ready and, in the sandbox, commands to try first. The
// commands read their keys from sandbox.json, so the output contains no secret.
func (s *server) announce() {
	if s.cfg.Sandbox {
		if err := greeting.Execute(s.streams.Out, s.greetingValues()); err != nil {
			s.log.Warn("the greeting can't be printed", "error", err)
		}
	}
	_, err := s.streams.Out.Write([]byte(readyPrefix + s.address + "\n"))
	if err != nil {
		s.log.Warn("the ready line can't be printed", "error", err)
	}
	s.log.Info("ready", "address", s.address, "version", s.version)
}

// readyPrefix begins the last line that is printed during the start. The server's address follows the prefix.
const readyPrefix = "mizan: ready at "

// greetingValues are the variable parts of the commands in the greeting, quoted for a shell.
type greetingValues struct {
	Program, Dir, Address string
	CACert                string // curl's option --cacert with its value; empty if curl does not need the option
	File                  string // path of sandbox.json
	Organization          string // id of the first organization
}

func (s *server) greetingValues() greetingValues {
	values := greetingValues{
		Program: quote(os.Args[0]), Dir: quote(s.cfg.Dir), Address: s.address, File: quote(filepath.Join(s.cfg.Dir, sandboxFile)),
	}
	if stored, ok := s.directory.Sandbox(); ok {
		values.Organization = stored.First.Org.String()
	}
	if s.transport.caFile != "" {
		values.CACert = "--cacert " + quote(s.transport.caFile) + " "
	}
	return values
}

// quote quotes a path so that a POSIX shell reads it as one word.
func quote(path string) string {
	isUnsafe := func(c rune) bool {
		return c != '/' && c != '.' && c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	}
	if path != "" && !strings.ContainsFunc(path, isUnsafe) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

var greeting = template.Must(template.New("greeting").Parse(`Mizan sandbox in {{.Dir}}; keys and tokens are in {{.File}}

The console, in a browser: {{.Address}}/console?organization={{.Organization}}
(logins demo, sandbox-admin, sandbox-auditor and sandbox-client; that file has their passwords)

The first payment, from another terminal:

  curl -sS {{.CACert}}{{.Address}}/api/v1/transactions \
    -H "x-api-key: $(grep -m1 '"api_key"' {{.File}} | cut -d'"' -f4)" \
    -H "x-organization-id: $(grep -m1 '"organization_id"' {{.File}} | cut -d'"' -f4)" \
    -H 'content-type: application/json' \
    -d '{"params":{"type":"payment","txid":"order-1","amount":"1000","currency":"USD","env":"test","returnUrl":"https://shop.example/ok","failUrl":"https://shop.example/failed","money_storage":{"type":"bank_card","cardnumber":"4242424242424242","cardholder":"JANE DOE","exp_month":"12","exp_year":"2030","cvv":"123"}}}'

The same with this program, and what merchants are notified of, as it happens:

  {{.Program}} pay --sandbox {{.Dir}}
  {{.Program}} listen --sandbox {{.Dir}} --forward-to http://localhost:3000/webhooks

What it did to the ledger, as the auditor sees it:

  curl -sS {{.CACert}}'{{.Address}}/api/v1/ledger/entries?env=test&limit=1' \
    -H "authorization: Bearer $(grep -m1 '"auditor_token"' {{.File}} | cut -d'"' -f4)" \
    -H "x-organization-id: $(grep -m1 '"organization_id"' {{.File}} | cut -d'"' -f4)"

`))
