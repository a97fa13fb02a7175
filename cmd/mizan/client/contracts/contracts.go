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

// Commands are the subcommands of `mizan contracts`, with which an organization's staff read its contracts. The commands
// authenticate with a session token, not with the admin token. The caller must bind a *client.Streams in kong, the command-line
// parser. If the output can't be written, a command returns the stream's error. All other errors are *client.Fault.
type Commands struct {
	client.ContractFlags
	JSON bool `name:"json" help:"Print the server's JSON: the contract, and then its entries, one object a line."`

	Show showContract `cmd:"" help:"Show a contract as a statement: its record, its schedule and its entries."`
}

// ContractCommand is one run of a contract command. kong passes it to the method Run.
type ContractCommand struct{ client.Command }

// ProvideCommand creates the *ContractCommand that kong passes to a command's Run method.
func (c *Commands) ProvideCommand(k *kong.Context, streams *client.Streams) (*ContractCommand, error) {
	command := &ContractCommand{client.Command{Name: "contracts " + k.Selected().Name, Streams: streams, JSON: c.JSON}}
	if slices.ContainsFunc(k.Args, func(argument string) bool { return !utf8.ValidString(argument) }) {
		return nil, command.Misused("an argument is not UTF-8")
	}
	var err error
	if command.Client, err = c.Open(); err != nil {
		return nil, command.Misused("%v", err)
	}
	return command, nil
}

type showContract struct {
	ID client.ID `arg:"" help:"The contract's id; secular and religious contracts are both found."`
}

// collections are the URL paths under which the server may have a contract. Each product has one path for its secular and one
// for its religious form (its readings). A contract's id shows neither the product nor the reading.
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

// Run prints the contract as a statement, or as JSON.
func (c *showContract) Run(e *ContractCommand) error {
	path, record, err := e.findContract(string(c.ID))
	if err != nil {
		return err
	}
	if e.JSON {
		if err := e.ShowObject(record); err != nil {
			return err
		}
		return e.List(client.Listing{Path: path + "/entries"}, client.Paging{All: true})
	}
	entries, err := e.listEntries(path + "/entries")
	if err != nil {
		return err
	}
	out := new(bytes.Buffer)
	if err := writeStatement(out, path, record, entries); err != nil {
		return e.Failed("the answer is not the server's: %v", err)
	}
	_, err = e.Streams.Out.Write(out.Bytes())
	return err
}

// findContract searches all collections for the contract. It skips collections that are not enabled for the organization or
// that the session may not read.
func (e *ContractCommand) findContract(id string) (path string, record client.Object, err error) {
	var refusal error
	for _, collection := range collections {
		answer, err := e.Client.Send(client.Request{Method: http.MethodGet, Path: collection + id})
		if err != nil {
			return "", client.Object{}, e.Failed("%s: %v", e.Client.BaseURL, err)
		}
		switch answer.Status {
		case http.StatusNotFound:
			continue
		case http.StatusForbidden:
			_, refusal = e.Check(answer)
			continue
		}
		if _, err := e.Check(answer); err != nil {
			return "", client.Object{}, err
		}
		record, err := parseData(answer.Body)
		if err != nil {
			return "", client.Object{}, e.Failed("the answer is not the server's: %v", err)
		}
		return collection + id, record, nil
	}
	if refusal != nil {
		e.Note("not every collection could be read")
		return "", client.Object{}, refusal
	}
	return "", client.Object{}, e.Misused("contract %s does not exist", id)
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

// entriesPerPage is the number of entries that one request asks for.
const entriesPerPage = "500"

// listEntries returns all entries of a contract, oldest first.
func (e *ContractCommand) listEntries(path string) (list []entry, err error) {
	query := url.Values{"limit": {entriesPerPage}}
	for range client.MaxPages {
		answer, err := e.Send(client.Request{Method: http.MethodGet, Path: path, Query: query})
		if err != nil {
			return nil, err
		}
		var page struct {
			Data   []entry `json:"data"`
			Cursor struct {
				Value *string `json:"cursor_value"`
			} `json:"cursor"`
		}
		if err := json.Unmarshal(answer.Body, &page); err != nil || page.Data == nil {
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

// entry decodes the parts of a ledger entry that a statement shows.
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
