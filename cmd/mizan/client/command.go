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
	Name    string // for example "partners create"; errors begin with this name
	Client  *Client
	Streams *Streams
	JSON    bool     // print the server's JSON instead of a table
	Key     WriteKey // the Idempotency-Key, if the command writes
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

// Write sends a request that changes something, and prints the response. The body is any value that encodes as a JSON
// object; nil: no body.
func (c *Command) Write(method, path string, body any) error {
	request := Request{Method: method, Path: path, Key: c.Key.text}
	if body != nil {
		var err error
		if request.Body, err = json.Marshal(body, json.Deterministic(true)); err != nil {
			return c.Misused("a file is not UTF-8") // the encoder's own error would quote the file
		}
	}
	return c.write(request)
}

// Upload sends a body that is not JSON and prints the response.
func (c *Command) Upload(path, contentType string, body []byte) error {
	return c.write(Request{Method: http.MethodPost, Path: path, Key: c.Key.text, ContentType: contentType, Body: body})
}

func (c *Command) write(request Request) error {
	reply, err := c.Send(request)
	if err != nil {
		return err
	}
	if reply.Header.Get("X-Idempotent-Replay") == "true" && !reply.Resent {
		c.Note("this was done before; the original response follows")
	}
	return c.ShowReply(reply)
}

// Send sends a request. A response with an error status becomes a *Fault.
func (c *Command) Send(r Request) (*Reply, error) {
	reply, err := c.Client.Send(r)
	switch {
	case err != nil && r.Key != "":
		return nil, c.Failed("%s: %v; if it was done is not known: repeat it with --idempotency-key '%s'", c.Client.BaseURL, err, r.Key)
	case err != nil:
		return nil, c.Failed("%s: %v", c.Client.BaseURL, err)
	}
	return c.Check(reply)
}

// ShowReply prints the object in a response: the data member, or the whole body if it has no such
// member. For a response without content it prints nothing.
func (c *Command) ShowReply(reply *Reply) error {
	if reply.Status == http.StatusNoContent {
		return nil
	}
	body, err := ParseObject(reply.Body)
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
	rowsOfPage = 100     // requested for each page; every list allows this number
	MaxPages   = 1 << 24 // a list with more pages is a fault of the server
)

// Listing is the request for a list, and the members of its rows that the table shows.
type Listing struct {
	Path    string
	Query   url.Values
	Columns []string
}

// List prints one page, or all pages.
func (c *Command) List(listing Listing, paging Paging) error {
	query := listing.Query
	if query == nil {
		query = url.Values{}
	}
	switch {
	case paging.Limit != nil:
		query.Set("limit", strconv.Itoa(*paging.Limit))
	case paging.All:
		query.Set("limit", strconv.Itoa(rowsOfPage))
	}
	if paging.Cursor != nil {
		query.Set("cursor", *paging.Cursor)
	}
	out := c.newPrinter(listing.Columns)
	for range MaxPages {
		nextCursor, err := c.listPage(listing.Path, query, out)
		if err != nil {
			_ = out.flush() // the rows before the fault are valid
			return err
		}
		if nextCursor != "" && !paging.All {
			err := out.flush()
			c.Note("there is more: --all, or --cursor '%s'", nextCursor)
			return err
		}
		if nextCursor == "" {
			return out.flush()
		}
		if nextCursor == query.Get("cursor") {
			break
		}
		query.Set("cursor", nextCursor)
	}
	_ = out.flush()
	return c.Failed("the list does not end: the server gives the same page again")
}

// listPage prints one page and returns the cursor of the next page; empty after the last page.
func (c *Command) listPage(path string, query url.Values, out *printer) (nextCursor string, err error) {
	reply, err := c.Send(Request{Method: http.MethodGet, Path: path, Query: query})
	if err != nil {
		return "", err
	}
	var body struct {
		Data   []jsontext.Value `json:"data"`
		Cursor struct {
			Value *string `json:"cursor_value"`
		} `json:"cursor"`
	}
	if err := json.Unmarshal(reply.Body, &body); err != nil || body.Data == nil {
		return "", c.Failed("the answer is not a list of the server's")
	}
	for _, value := range body.Data {
		object, err := ParseObject(value)
		if err != nil {
			return "", c.Failed("the answer is not a list of the server's: %v", err)
		}
		out.printRow(object)
	}
	if body.Cursor.Value != nil {
		nextCursor = *body.Cursor.Value
	}
	return nextCursor, nil
}
