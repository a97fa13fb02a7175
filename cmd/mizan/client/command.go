package client

import (
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Streams are where a command prints: the server's data to Out, everything else to Err.
// The caller closes them.
type Streams struct {
	Out io.Writer
	Err io.Writer
}

// Command is one run of a command.
type Command struct {
	Name    string // for example "partners create"; its errors begin with it
	Client  *Client
	Streams *Streams
	JSON    bool
	Key     WriteKey
}

// Show requests one object and prints it.
func (c *Command) Show(path string) error { return c.ShowWith(path, nil) }

// ShowWith is Show with query parameters.
func (c *Command) ShowWith(path string, query url.Values) error {
	a, err := c.Send(Request{Method: http.MethodGet, Path: path, Query: query})
	if err != nil {
		return err
	}
	return c.ShowReply(a)
}

// Write sends a change and prints the response. A body is anything that encodes as a JSON object; nil:
// no body.
func (c *Command) Write(method, path string, body any) error {
	r := Request{Method: method, Path: path, Key: c.Key.text}
	if body != nil {
		var err error
		if r.Body, err = json.Marshal(body, json.Deterministic(true)); err != nil {
			return c.Misused("a file is not UTF-8") // the encoder's own error would quote the file
		}
	}
	return c.write(r)
}

// Upload sends a body that is not JSON and prints the response.
func (c *Command) Upload(path, contentType string, body []byte) error {
	return c.write(Request{Method: http.MethodPost, Path: path, Key: c.Key.text, ContentType: contentType, Body: body})
}

func (c *Command) write(r Request) error {
	a, err := c.Send(r)
	if err != nil {
		return err
	}
	if a.Header.Get("X-Idempotent-Replay") == "true" && !a.Resent {
		c.Note("this was done before; the original response follows")
	}
	return c.ShowReply(a)
}

// Send sends a request. A response with an error status becomes a *Fault.
func (c *Command) Send(r Request) (*Reply, error) {
	a, err := c.Client.Send(r)
	switch {
	case err != nil && r.Key != "":
		return nil, c.Failed("%s: %v; if it was done is not known: repeat it with --idempotency-key '%s'", c.Client.Base, err, r.Key)
	case err != nil:
		return nil, c.Failed("%s: %v", c.Client.Base, err)
	}
	return c.Check(a)
}

// ShowReply prints the object in a response: the data member, or the whole body if it has no such
// member. For a response without content it prints nothing.
func (c *Command) ShowReply(a *Reply) error {
	if a.Status == http.StatusNoContent {
		return nil
	}
	body, err := ParseObject(a.Body)
	if err != nil {
		return c.Failed("the answer is not the server's: %v", err)
	}
	object := body
	if data, has := body.Value("data"); has {
		if object, err = ParseObject(data); err != nil {
			return c.Failed("the answer is not the server's: %v", err)
		}
	}
	out := c.newPrinter(nil)
	out.printObject(object)
	return out.flush()
}

// Paging are the flags of every list.
type Paging struct {
	All    bool    `name:"all" help:"All pages, not only one."`
	Limit  *int    `name:"limit" placeholder:"N" help:"Rows of a page; the server has a bound for it."`
	Cursor *string `name:"cursor" placeholder:"CURSOR" help:"Continue after the page that ended with this cursor."`
}

// Bounds of --all.
const (
	wholePage = 100     // rows of a page; every list allows this number
	MaxPages  = 1 << 24 // a list with more pages is a fault of the server
)

// Listing is the request of a list, and the members that its table shows.
type Listing struct {
	Path    string
	Query   url.Values
	Columns []string
}

// List prints one page, or all pages.
func (c *Command) List(l Listing, p Paging) error {
	query := l.Query
	if query == nil {
		query = url.Values{}
	}
	switch {
	case p.Limit != nil:
		query.Set("limit", strconv.Itoa(*p.Limit))
	case p.All:
		query.Set("limit", strconv.Itoa(wholePage))
	}
	if p.Cursor != nil {
		query.Set("cursor", *p.Cursor)
	}
	out := c.newPrinter(l.Columns)
	for range MaxPages {
		next, err := c.listPage(l.Path, query, out)
		if err != nil {
			_ = out.flush() // the rows before the fault are valid
			return err
		}
		if next != "" && !p.All {
			err := out.flush()
			c.Note("there is more: --all, or --cursor '%s'", next)
			return err
		}
		if next == "" {
			return out.flush()
		}
		if next == query.Get("cursor") {
			break
		}
		query.Set("cursor", next)
	}
	_ = out.flush()
	return c.Failed("the list does not end: the server gives the same page again")
}

// listPage prints one page and returns the cursor of the next one; empty if it was the last.
func (c *Command) listPage(path string, query url.Values, out *printer) (next string, err error) {
	a, err := c.Send(Request{Method: http.MethodGet, Path: path, Query: query})
	if err != nil {
		return "", err
	}
	var body struct {
		Data   []jsontext.Value `json:"data"`
		Cursor struct {
			Value *string `json:"cursor_value"`
		} `json:"cursor"`
	}
	if err := json.Unmarshal(a.Body, &body); err != nil || body.Data == nil {
		return "", c.Failed("the answer is not a list of the server's")
	}
	for _, value := range body.Data {
		r, err := ParseObject(value)
		if err != nil {
			return "", c.Failed("the answer is not a list of the server's: %v", err)
		}
		out.printRow(r)
	}
	if body.Cursor.Value != nil {
		next = *body.Cursor.Value
	}
	return next, nil
}
