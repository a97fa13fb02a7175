package admin

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ContractCommands are `mizan contracts …` for kong: what the people of an
// organization read of its contracts. They come with a session's token, not with the
// administration's. Running one needs a *Streams among kong's bindings; the error is a
// *Fault, or the stream's own where the output could not be written.
type ContractCommands struct {
	URL          *string `name:"url" placeholder:"URL" help:"The server, scheme and host only (default https://127.0.0.1:8443) ($MIZAN_URL)."`
	TokenFile    *string `name:"session-token-file" placeholder:"FILE" help:"File with a session's token; - is stdin ($MIZAN_SESSION_TOKEN has the token itself)."`
	CAFile       *string `name:"ca-file" placeholder:"FILE" help:"Certificates (PEM) to trust, and no others; the system's if absent ($MIZAN_CA_FILE)."`
	Organization *string `name:"organization" placeholder:"ID" help:"The session's organization ($MIZAN_ORGANIZATION)."`
	Data         string  `name:"data" placeholder:"DIR|FILE" help:"Take all of these from a sandbox's data directory, or from its sandbox.json."`

	Show showContract `cmd:"" help:"Show a contract as a statement: its record, its schedule and its entries."`
}

// ContractErrand is a command of contracts under way; kong hands it to Run.
type ContractErrand struct{ errand }

// ProvideContractErrand gives kong what a command's Run takes.
func (c *ContractCommands) ProvideContractErrand(k *kong.Context, s *Streams) (*ContractErrand, error) {
	e := &ContractErrand{errand{name: "contracts " + k.Selected().Name, streams: s}}
	if slices.ContainsFunc(k.Args, func(said string) bool { return !utf8.ValidString(said) }) {
		return nil, e.misused("an argument is not UTF-8")
	}
	var err error
	if e.door, err = c.open(); err != nil {
		return nil, e.misused("%v", err)
	}
	return e, nil
}

// open resolves the flags as those of the administration are resolved; only the token
// is another one.
func (c *ContractCommands) open() (*door, error) {
	box, err := readSandbox(c.Data)
	if err != nil {
		return nil, fmt.Errorf("--data: %s", strings.TrimPrefix(err.Error(), "--sandbox: "))
	}
	base, err := baseOf(setting(c.URL, box.BaseURL, "MIZAN_URL", standardURL))
	if err != nil {
		return nil, err
	}
	d := &door{base: base}
	if d.token, err = c.token(box.SessionToken); err != nil {
		return nil, err
	}
	d.organization = setting(c.Organization, box.OrganizationID, "MIZAN_ORGANIZATION", "")
	if !isID(d.organization) {
		return nil, fmt.Errorf("--organization: %q is not a UUID", d.organization)
	}
	trust, err := trusted(setting(c.CAFile, box.CAFile, "MIZAN_CA_FILE", ""))
	if err != nil {
		return nil, err
	}
	d.http = client(trust)
	return d, nil
}

// token is a session's token. No error ever quotes it.
func (c *ContractCommands) token(sandbox string) (string, error) {
	said, origin := os.Getenv("MIZAN_SESSION_TOKEN"), "MIZAN_SESSION_TOKEN"
	switch {
	case c.TokenFile != nil:
		content, err := contentOf(*c.TokenFile, maxSmallFile)
		if err != nil {
			return "", fmt.Errorf("--session-token-file: %w", err)
		}
		said, origin = string(content), "--session-token-file"
	case c.Data != "":
		said, origin = sandbox, "--data"
	case said == "":
		return "", fmt.Errorf("there is no session token: give --session-token-file, MIZAN_SESSION_TOKEN or --data")
	}
	return tokenIn(said, origin)
}

type showContract struct {
	ID id `arg:"" help:"The contract, of either reading."`
}

// places are the addresses that a contract may have. Its id says nothing of them.
var places = []string{
	"/pfp/certificate-issues/", "/pfp/managed-investments/", "/pfp/leases/", "/pfp/partnerships/", "/pfp/investment-deposits/",
	"/pfp/instalment-sales/", "/pfp/safekeeping-deposits/",
	"/baas/islamic-banking/sukuk/", "/baas/islamic-banking/mudaraba/", "/baas/islamic-banking/ijara/", "/baas/islamic-banking/musharaka/",
	"/baas/islamic-banking/murabaha/", "/baas/islamic-banking/wadiah/",
}

// Run is called by kong.
func (c *showContract) Run(e *ContractErrand) error {
	place, found, err := e.find(string(c.ID))
	if err != nil {
		return err
	}
	entries, err := e.entries(place + "/entries")
	if err != nil {
		return err
	}
	out := new(bytes.Buffer)
	if err := writeStatement(out, place, found, entries); err != nil {
		return e.failed("the answer is not the server's: %v", err)
	}
	_, err = e.streams.Out.Write(out.Bytes())
	return err
}

// find looks for the contract at each address. Where the organization has no module,
// or the session may not look, there may be others.
func (e *ContractErrand) find(id string) (place string, contract record, err error) {
	var refusal error
	for _, base := range places {
		a, err := e.door.ask(request{method: http.MethodGet, path: base + id})
		if err != nil {
			return "", record{}, e.failed("%s: %v", e.door.base, err)
		}
		switch a.status {
		case http.StatusNotFound:
			continue
		case http.StatusForbidden:
			_, refusal = e.checked(a)
			continue
		}
		if _, err := e.checked(a); err != nil {
			return "", record{}, err
		}
		contract, err := dataOf(a.body)
		if err != nil {
			return "", record{}, e.failed("the answer is not the server's: %v", err)
		}
		return base + id, contract, nil
	}
	if refusal != nil {
		e.note("not every address could be asked")
		return "", record{}, refusal
	}
	return "", record{}, e.misused("no such contract")
}

// dataOf is the thing in an answer {data: …}.
func dataOf(body []byte) (record, error) {
	whole, err := parseRecord(body)
	if err != nil {
		return record{}, err
	}
	data, _ := whole.value("data")
	return parseRecord(data)
}

// entryPage is how many entries are asked for at once.
const entryPage = "500"

// entries are all entries of a contract, the oldest first.
func (e *ContractErrand) entries(path string) (all []statedEntry, err error) {
	query := url.Values{"limit": {entryPage}}
	for range maxPages {
		a, err := e.ask(request{method: http.MethodGet, path: path, query: query})
		if err != nil {
			return nil, err
		}
		var page struct {
			Data   []statedEntry `json:"data"`
			Cursor struct {
				Value *string `json:"cursor_value"`
			} `json:"cursor"`
		}
		if err := json.Unmarshal(a.body, &page); err != nil || page.Data == nil {
			return nil, e.failed("the answer is not a list of the server's")
		}
		all = append(all, page.Data...)
		if page.Cursor.Value == nil || *page.Cursor.Value == query.Get("cursor") {
			slices.Reverse(all)
			return all, nil
		}
		query.Set("cursor", *page.Cursor.Value)
	}
	return nil, e.failed("the list does not end: the server gives the same page again")
}

// statedEntry is what a statement needs of an entry.
type statedEntry struct {
	Seq      jsontext.Value `json:"seq"`
	Event    string         `json:"event"`
	Date     string         `json:"effective_date"`
	Postings []struct {
		Account string `json:"account"`
		Side    string `json:"side"`
		Amount  string `json:"amount"`
		Asset   struct {
			Currency string `json:"currency"`
		} `json:"asset"`
	} `json:"postings"`
}
