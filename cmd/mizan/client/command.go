package client

import (
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"mizan/internal/progress"
)

// Streams are the outputs of a command. The server's data is written to Out, and everything else to Err. The caller that has
// opened the streams also closes them.
type Streams struct {
	Out io.Writer
	Err io.Writer
}

// Progress returns a progress meter whose line begins with the command's name. It returns nil if Err is not a terminal.
func (s *Streams) Progress(commandName string) *progress.Meter {
	return progress.New(s.Err, "mizan: "+commandName+": ", TerminalWidth(s.Err))
}

// Command is one run of a command.
type Command struct {
	Name    string // for example "partners create"; errors begin with this name
	Client  *Client
	Streams *Streams
	JSON    bool     // print the server's JSON, not a table
	Key     WriteKey // the Idempotency-Key, if the command writes
}

// Show requests one object and prints it.
func (c *Command) Show(path string) error { return c.ShowWith(path, nil) }

// ShowWith requests one object with query parameters, and prints the object. If the object contains an amount without an asset,
// the asset is looked up in the objects around, as if these enclosed the printed object.
func (c *Command) ShowWith(path string, query url.Values, around ...Object) error {
	a, err := c.Send(Request{Method: http.MethodGet, Path: path, Query: query})
	if err != nil {
		return err
	}
	return c.ShowReply(a, around...)
}

// Read requests one object and returns it. The object is the member "data" of the response, or the whole body if there is no
// such member.
func (c *Command) Read(path string, query url.Values) (Object, error) {
	a, err := c.Send(Request{Method: http.MethodGet, Path: path, Query: query})
	if err != nil {
		return Object{}, err
	}
	return c.objectIn(a)
}

// Write sends a request that changes something, and prints the response. The body is any value that encodes as a JSON object.
// If body is nil, the request has no body.
func (c *Command) Write(method, path string, body any) error {
	request := Request{Method: method, Path: path, Key: c.Key.text}
	if body != nil {
		var err error
		if request.Body, err = json.Marshal(body, json.Deterministic(true)); err != nil {
			return c.Misused("a file is not UTF-8") // not the encoder's error, because it would quote the file
		}
	}
	return c.write(request)
}

// Call sends a request with a JSON body and returns the object in the response. If body is nil, the request has no body. If the
// method is not GET, Call adds a new Idempotency-Key.
func (c *Command) Call(method, path string, body any) (Object, error) {
	request := Request{Method: method, Path: path}
	if method != http.MethodGet {
		request.Key = uuid.NewString()
	}
	if body != nil {
		var err error
		if request.Body, err = json.Marshal(body, json.Deterministic(true)); err != nil {
			return Object{}, c.Misused("%v", err)
		}
	}
	reply, err := c.Send(request)
	if err != nil {
		return Object{}, err
	}
	return c.objectIn(reply)
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

// Send sends a request. If the response has an error status, Send returns a *Fault.
func (c *Command) Send(r Request) (*Reply, error) {
	reply, err := c.Client.Send(r)
	switch {
	case err != nil && r.Key != "" && r.Key != c.Key.text:
		return nil, c.Failed("%s: %v; it is unknown whether the write was done", c.Client.BaseURL, c.Client.withSandboxHint(err))
	case err != nil && r.Key != "":
		return nil, c.Failed("%s: %v; it is unknown whether the write was done: repeat it with --idempotency-key '%s'", c.Client.BaseURL, c.Client.withSandboxHint(err), r.Key)
	case err != nil:
		return nil, c.Failed("%s: %v", c.Client.BaseURL, c.Client.withSandboxHint(err))
	}
	return c.check(reply, missingRecord(r.Path, r.Query))
}

// ShowReply prints the object in a response. The object is the member "data", or the whole body if there is no such member. If
// the response has no content, ShowReply prints nothing.
func (c *Command) ShowReply(reply *Reply, around ...Object) error {
	if reply.Status == http.StatusNoContent {
		return nil
	}
	object, err := c.objectIn(reply)
	if err != nil {
		return err
	}
	return c.ShowObject(object, around...)
}

// ShowObject prints an object.
func (c *Command) ShowObject(object Object, around ...Object) error {
	out := c.newPrinter(nil)
	out.around = around
	out.printObject(object)
	return out.flush()
}

// objectIn returns the object in a response. The error is a *Fault.
func (c *Command) objectIn(reply *Reply) (Object, error) {
	body, err := ParseObject(reply.Body)
	if err != nil {
		return Object{}, c.Failed("the answer is not the server's: %v", err)
	}
	data, has := body.Value("data")
	if !has {
		return body, nil
	}
	object, err := ParseObject(data)
	if err != nil {
		return Object{}, c.Failed("the answer is not the server's: %v", err)
	}
	return object, nil
}

// Paging contains the flags that all commands for lists share.
type Paging struct {
	All    bool    `name:"all" help:"All pages, not only one."`
	Limit  *int    `name:"limit" placeholder:"N" help:"Rows in a page; the server has a maximum."`
	Cursor *string `name:"cursor" placeholder:"CURSOR" help:"Continue after the page that ended with this cursor."`
}

// Bounds for the flag --all.
const (
	rowsOfPage = 100     // number of objects requested for each page; the server allows this number for every list
	MaxPages   = 1 << 24 // if a list has more pages, the server is faulty
)

// Listing describes the request for a list and the table in which the list is printed.
type Listing struct {
	Path    string
	Query   url.Values
	Columns []string // members of the listed objects that the table shows, named as for Object.Value

	Headings  map[string]string // headings of columns; a column without an entry has the member's name as its heading
	OmitOrder []string          // columns to omit on a narrow terminal, in this order; after them the rightmost columns
	HasEnv    bool              // if the query contains no env, the server lists the environment prod

	Around []Object              // objects that name the asset of amounts without an asset
	Expand func(Object) []Object // returns the table rows for one listed object; if nil, each object is one row
	Footer func() [][]string     // returns extra rows for the end of the table, with one cell for each column; may be nil

	isContinued bool // the listing starts at a cursor that the user gave, not at the first page of the list
}

// List prints one page of a list or, with --all, all pages.
func (c *Command) List(listing Listing, paging Paging) error {
	query := maps.Clone(listing.Query)
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
	out := c.newPrinter(&listing)
	if paging.Cursor != nil {
		listing.isContinued = true
	}
	for range MaxPages {
		nextCursor, err := c.listPage(listing.Path, query, out)
		if err != nil {
			_ = out.flush() // the rows before the fault are valid, so print them
			return err
		}
		if nextCursor == "" || !paging.All {
			return c.endList(&listing, out, nextCursor)
		}
		if nextCursor == query.Get("cursor") {
			break
		}
		query.Set("cursor", nextCursor)
	}
	_ = out.flush()
	return c.Failed("the list does not end: the server gives the same page again")
}

// endList prints the rest of a table. On stderr it prints notes that name the omitted columns and the cursor of the next page.
// If the list is empty, it prints a note that names the filters.
func (c *Command) endList(listing *Listing, out *printer, nextCursor string) error {
	if listing.Footer != nil && out.table != nil && nextCursor == "" && out.rowCount > 0 {
		for _, cells := range listing.Footer() {
			out.table.Add(cells...)
		}
	}
	err := out.flush()
	if out.table != nil {
		if omitted := out.table.Omitted(); len(omitted) > 0 {
			c.Note("the terminal is too narrow for %s; --json has everything", strings.ToLower(strings.Join(omitted, ", ")))
		}
	}
	switch {
	case nextCursor != "":
		c.Note("there is more: --all, or --cursor '%s'", nextCursor)
	case out.rowCount == 0 && !c.JSON:
		c.Note("%s", listing.emptyText())
	}
	return err
}

// emptyText returns the note for an empty list, which names the list's filters.
func (l *Listing) emptyText() string {
	if l.isContinued {
		return "nothing follows the cursor"
	}
	var filters []string
	for _, name := range slices.Sorted(maps.Keys(l.Query)) {
		filters = append(filters, strings.TrimSuffix(name, "_id")+" "+l.Query.Get(name))
	}
	if l.HasEnv && l.Query.Get("env") == "" {
		filters = append(filters, "env prod, which is the default")
	}
	if filters == nil {
		return "the list is empty"
	}
	return "there is nothing with " + strings.Join(filters, ", ")
}

// PrintRows prints objects in the same form as a list from the server.
func (c *Command) PrintRows(listing Listing, objects []Object) error {
	out := c.newPrinter(&listing)
	for _, o := range objects {
		out.printRow(o)
	}
	return c.endList(&listing, out, "")
}

// Rows requests one page of a list and returns the objects on the page.
func (c *Command) Rows(path string, query url.Values) (rows []Object, err error) {
	rows, _, err = c.page(path, query)
	return rows, err
}

// listPage prints one page of a list and returns the cursor of the next page. After the last page the cursor is empty.
func (c *Command) listPage(path string, query url.Values, out *printer) (nextCursor string, err error) {
	rows, nextCursor, err := c.page(path, query)
	for _, row := range rows {
		out.printRow(row)
	}
	return nextCursor, err
}

// page requests one page of a list. It returns the objects on the page and the cursor of the next page. After the last page the
// cursor is empty.
func (c *Command) page(path string, query url.Values) (rows []Object, nextCursor string, err error) {
	reply, err := c.Send(Request{Method: http.MethodGet, Path: path, Query: query})
	if err != nil {
		return nil, "", err
	}
	var body struct {
		Data   []jsontext.Value `json:"data"`
		Cursor struct {
			Value *string `json:"cursor_value"`
		} `json:"cursor"`
	}
	if err := json.Unmarshal(reply.Body, &body); err != nil || body.Data == nil {
		return nil, "", c.Failed("the answer is not a list of the server's")
	}
	for _, value := range body.Data {
		object, err := ParseObject(value)
		if err != nil {
			return rows, "", c.Failed("the answer is not a list of the server's: %v", err)
		}
		rows = append(rows, object)
	}
	if body.Cursor.Value != nil {
		nextCursor = *body.Cursor.Value
	}
	return rows, nextCursor, nil
}
