package contracts

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mizan/cmd/mizan/client"
	"mizan/ledger/contract"
)

// Commands are `mizan contracts …` for kong: commands with which an organization's staff read
// its contracts. They use a session's token, not the administration's. A command needs a
// *Streams among kong's bindings. Its error is a *Fault, or the stream's own if the output
// could not be written.
type Commands struct {
	client.ContractFlags

	Show showContract `cmd:"" help:"Show a contract as a statement: its record, its schedule and its entries."`
}

// ContractCommand is a running command about contracts; kong passes it to Run.
type ContractCommand struct{ client.Command }

// ProvideCommand makes the argument of a command's Run for kong.
func (c *Commands) ProvideCommand(k *kong.Context, s *client.Streams) (*ContractCommand, error) {
	e := &ContractCommand{client.Command{Name: "contracts " + k.Selected().Name, Streams: s}}
	if slices.ContainsFunc(k.Args, func(argument string) bool { return !utf8.ValidString(argument) }) {
		return nil, e.Misused("an argument is not UTF-8")
	}
	var err error
	if e.Client, err = c.Open(); err != nil {
		return nil, e.Misused("%v", err)
	}
	return e, nil
}

type showContract struct {
	ID client.ID `arg:"" help:"The contract, of either reading."`
}

// collections are the paths of the collections in which a contract may be, those of each product in each
// reading; the contract's id does not tell which.
var collections = func() (paths []string) {
	for _, reading := range contract.Readings {
		for _, p := range contract.Products {
			if p.Variants[reading] != nil {
				paths = append(paths, p.Path(reading)+"/")
			}
		}
	}
	return paths
}()

// Run is called by kong.
func (c *showContract) Run(e *ContractCommand) error {
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
		return e.Failed("the answer is not the server's: %v", err)
	}
	_, err = e.Streams.Out.Write(out.Bytes())
	return err
}

// find looks for the contract in each collection. If a collection is not enabled for the
// organization, or not visible to the session, it tries the others.
func (e *ContractCommand) find(id string) (place string, found client.Object, err error) {
	var refusal error
	for _, base := range collections {
		a, err := e.Client.Send(client.Request{Method: http.MethodGet, Path: base + id})
		if err != nil {
			return "", client.Object{}, e.Failed("%s: %v", e.Client.Base, err)
		}
		switch a.Status {
		case http.StatusNotFound:
			continue
		case http.StatusForbidden:
			_, refusal = e.Check(a)
			continue
		}
		if _, err := e.Check(a); err != nil {
			return "", client.Object{}, err
		}
		found, err := parseData(a.Body)
		if err != nil {
			return "", client.Object{}, e.Failed("the answer is not the server's: %v", err)
		}
		return base + id, found, nil
	}
	if refusal != nil {
		e.Note("not every collection could be read")
		return "", client.Object{}, refusal
	}
	return "", client.Object{}, e.Misused("no such contract")
}

// parseData returns the object in a response {data: …}.
func parseData(body []byte) (client.Object, error) {
	response, err := client.ParseObject(body)
	if err != nil {
		return client.Object{}, err
	}
	data, _ := response.Value("data")
	return client.ParseObject(data)
}

// entryPage is how many entries are requested at a time.
const entryPage = "500"

// entries returns all entries of a contract, oldest first.
func (e *ContractCommand) entries(path string) (list []entry, err error) {
	query := url.Values{"limit": {entryPage}}
	for range client.MaxPages {
		a, err := e.Send(client.Request{Method: http.MethodGet, Path: path, Query: query})
		if err != nil {
			return nil, err
		}
		var page struct {
			Data   []entry `json:"data"`
			Cursor struct {
				Value *string `json:"cursor_value"`
			} `json:"cursor"`
		}
		if err := json.Unmarshal(a.Body, &page); err != nil || page.Data == nil {
			return nil, e.Failed("the answer is not a list of the server's")
		}
		list = append(list, page.Data...)
		if page.Cursor.Value == nil || *page.Cursor.Value == query.Get("cursor") {
			slices.Reverse(list)
			return list, nil
		}
		query.Set("cursor", *page.Cursor.Value)
	}
	return nil, e.Failed("the list does not end: the server gives the same page again")
}

// entry has the members of an entry that a statement shows.
type entry struct {
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
