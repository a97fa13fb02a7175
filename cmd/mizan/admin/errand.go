package admin

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// read asks for one thing and shows it.
func (e *errand) read(path string) error { return e.readWith(path, nil) }

// readWith is read with parameters.
func (e *errand) readWith(path string, query url.Values) error {
	a, err := e.ask(request{method: http.MethodGet, path: path, query: query})
	if err != nil {
		return err
	}
	return e.showOne(a)
}

// write changes something and shows what the server says of it. A body is
// anything that encodes as a JSON object; nil: none.
func (e *errand) write(method, path string, body any) error {
	r := request{method: method, path: path, key: e.key.text}
	if body != nil {
		var err error
		if r.body, err = json.Marshal(body, json.Deterministic(true)); err != nil {
			return e.misused("a file is not UTF-8") // the encoder's own words would quote it
		}
	}
	a, err := e.ask(r)
	if err != nil {
		return err
	}
	if a.header.Get("X-Idempotent-Replay") == "true" && !a.repeated {
		e.note("this was done before; shown is what it was answered then")
	}
	return e.showOne(a)
}

// ask sends a request; an answer that is no success is a fault.
func (e *errand) ask(r request) (*reply, error) {
	a, err := e.door.ask(r)
	switch {
	case err != nil && r.key != "":
		return nil, e.failed("%s: %v; if it was done is not known: repeat it with --idempotency-key '%s'", e.door.base, err, r.key)
	case err != nil:
		return nil, e.failed("%s: %v", e.door.base, err)
	}
	return e.checked(a)
}

// showOne prints the thing that an answer holds: its data, or all of it where
// the protocol shows it bare. No content: nothing.
func (e *errand) showOne(a *reply) error {
	if a.status == http.StatusNoContent {
		return nil
	}
	body, err := parseRecord(a.body)
	if err != nil {
		return e.failed("the answer is not the server's: %v", err)
	}
	thing := body
	if data, there := body.value("data"); there {
		if thing, err = parseRecord(data); err != nil {
			return e.failed("the answer is not the server's: %v", err)
		}
	}
	out := e.newPrinter(nil)
	out.one(thing)
	return out.end()
}

// paging are the flags of every list.
type paging struct {
	All    bool    `name:"all" help:"All pages, not only one."`
	Limit  *int    `name:"limit" placeholder:"N" help:"Rows of a page; the server has a bound for it."`
	Cursor *string `name:"cursor" placeholder:"CURSOR" help:"Go on after the page that ended with this."`
}

// Bounds of --all.
const (
	wholePage = 100     // rows of a page, which every list grants
	maxPages  = 1 << 24 // a server that never ends is a fault
)

// listing is what a list is asked for and which members its table shows.
type listing struct {
	path    string
	query   url.Values
	columns []string
}

// list shows a page, or all of them.
func (e *errand) list(l listing, p paging) error {
	query := l.query
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
	out := e.newPrinter(l.columns)
	for range maxPages {
		next, err := e.page(l.path, query, out)
		if err != nil {
			_ = out.end() // what came before the fault is true
			return err
		}
		if next != "" && !p.All {
			err := out.end()
			e.note("there is more: --all, or --cursor '%s'", next)
			return err
		}
		if next == "" {
			return out.end()
		}
		if next == query.Get("cursor") {
			break
		}
		query.Set("cursor", next)
	}
	_ = out.end()
	return e.failed("the list does not end: the server gives the same page again")
}

// page prints one page and is the cursor of the next one; empty: there is none.
func (e *errand) page(path string, query url.Values, out *printer) (next string, err error) {
	a, err := e.ask(request{method: http.MethodGet, path: path, query: query})
	if err != nil {
		return "", err
	}
	var body struct {
		Data   []jsontext.Value `json:"data"`
		Cursor struct {
			Value *string `json:"cursor_value"`
		} `json:"cursor"`
	}
	if err := json.Unmarshal(a.body, &body); err != nil || body.Data == nil {
		return "", e.failed("the answer is not a list of the server's")
	}
	for _, value := range body.Data {
		r, err := parseRecord(value)
		if err != nil {
			return "", e.failed("the answer is not a list of the server's: %v", err)
		}
		out.row(r)
	}
	if body.Cursor.Value != nil {
		next = *body.Cursor.Value
	}
	return next, nil
}
