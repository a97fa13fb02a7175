package reconcile

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/alecthomas/kong"

	"mizan/cmd/mizan/client"
)

// Commands are the subcommands of `mizan reconcile` and their common flags, as kong (the command-line parser) reads them. The
// caller must bind a *client.Streams in kong. If the output can't be written, a command returns the output stream's error. All
// other errors are *client.Fault.
type Commands struct {
	client.AdminFlags
	JSON           bool    `name:"json" help:"Print the server's JSON, one object a line, instead of a table."`
	IdempotencyKey *string `name:"idempotency-key" placeholder:"KEY" help:"Idempotency key of a write that is being repeated; if absent, each write gets a new key."`

	Import      importReport    `cmd:"" help:"Import a settlement report of a terminal's provider. The same report again changes nothing."`
	Differences listDifferences `cmd:"" help:"List differences between reports and the ledger, the newest first."`
	Settle      settle          `cmd:"" help:"Decide on a difference."`
	Summary     showSummary     `cmd:"" help:"Compare a provider's balance with the books."`
	Close       closeDay        `cmd:"" help:"Close a day of a terminal, once nothing of it is open."`
}

// ProvideCommand creates the *client.Command that kong passes to a command's Run method.
func (c *Commands) ProvideCommand(k *kong.Context, s *client.Streams) (*client.Command, error) {
	e := &client.Command{Name: "reconcile " + k.Selected().Name, Streams: s, JSON: c.JSON}
	var err error
	if e.Client, err = c.Open(); err != nil {
		return nil, e.Misused("%v", err)
	}
	if e.Key, err = client.NewWriteKey(c.IdempotencyKey); err != nil {
		return nil, e.Misused("%v", err)
	}
	return e, nil
}

const root = "/reconciliation"

// Bounds of an import.
const (
	maxFile    = 32 << 20 // bytes; the server accepts no more
	importWait = 6 * time.Minute
)

type importReport struct {
	Terminal client.ID `name:"terminal" required:"" placeholder:"ID" help:"The terminal whose provider reports."`
	Format   string    `name:"format" required:"" placeholder:"FORMAT" help:"csv, camt053, or stripe, whose lines the server fetches."`
	Mapping  *string   `name:"mapping" placeholder:"JSON" help:"For csv: a JSON object that names the columns date, amount, currency, reference, and optionally fee, kind and id, and whose scale is major or minor."`
	File     *string   `arg:"" optional:"" help:"The file; - reads the standard input. None for stripe."`
}

// Run imports a report.
func (c *importReport) Run(e *client.Command) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	fields := [][2]string{{"terminal_id", string(c.Terminal)}, {"format", c.Format}}
	if c.Mapping != nil {
		fields = append(fields, [2]string{"mapping", *c.Mapping})
	}
	for _, field := range fields {
		if err := form.WriteField(field[0], field[1]); err != nil {
			return e.Failed("%v", err)
		}
	}
	if c.File != nil {
		content, err := readFile(*c.File)
		if err != nil {
			return e.Misused("%v", err)
		}
		if len(content) > maxFile {
			return e.Misused("the file is larger than %d bytes", maxFile)
		}
		part, err := form.CreateFormFile("file", "report")
		if err == nil {
			_, err = part.Write(content)
		}
		if err != nil {
			return e.Failed("%v", err)
		}
	}
	if err := form.Close(); err != nil {
		return e.Failed("%v", err)
	}
	reply, err := e.Send(client.Request{
		Method: http.MethodPost, Path: root + "/reports", ContentType: form.FormDataContentType(), Body: body.Bytes(), Timeout: importWait,
	})
	if err != nil {
		return err
	}
	if reply.Header.Get("X-Idempotent-Replay") == "true" {
		e.Note("this report was imported before")
	}
	return e.ShowReply(reply)
}

// readFile reads a file, or the standard input if the path is "-", up to one byte more than the server accepts.
func readFile(path string) ([]byte, error) {
	f := os.Stdin
	if path != "-" {
		var err error
		if f, err = os.Open(path); err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
	}
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

type listDifferences struct {
	Terminal *client.ID `name:"terminal" placeholder:"ID" help:"Only of this terminal."`
	Kind     *string    `name:"kind" placeholder:"KIND" help:"Only missing_here, missing_there, amount, currency, date or duplicate."`
	State    *string    `name:"state" placeholder:"STATE" help:"Only open or settled ones."`
	client.Paging
}

// Run lists differences.
func (c *listDifferences) Run(e *client.Command) error {
	query := url.Values{}
	if c.Terminal != nil {
		query.Set("terminal_id", string(*c.Terminal))
	}
	if c.Kind != nil {
		query.Set("kind", *c.Kind)
	}
	if c.State != nil {
		query.Set("state", *c.State)
	}
	return e.List(client.Listing{
		Path: root + "/differences", Query: query,
		Columns:   []string{"id", "kind", "state", "day", "line_kind", "amount", "entry_amount", "currency", "references", "entry_seq", "decision", "note"},
		OmitOrder: []string{"note", "line_kind", "decision", "references", "day"},
	}, c.Paging)
}

type settle struct {
	ID       client.ID `arg:"" json:"-" help:"The difference."`
	Decision string    `name:"decision" required:"" placeholder:"WORD" json:"decision" help:"write_off, accept_fee, wait, link, in_transit or arrived."`
	EntrySeq *uint64   `name:"entry-seq" placeholder:"SEQ" json:"entry_seq,omitzero" help:"For link: the number of the entry that explains the difference."`
	Note     string    `name:"note" required:"" placeholder:"TEXT" json:"note" help:"The reason, for auditors."`
}

// Run decides on a difference.
func (c *settle) Run(e *client.Command) error {
	return e.Write(http.MethodPost, root+"/differences/"+string(c.ID)+"/settle", *c)
}

type showSummary struct {
	Terminal client.ID `name:"terminal" required:"" placeholder:"ID" help:"The terminal."`
	Currency string    `name:"currency" required:"" placeholder:"CODE" help:"The currency."`
	Network  *string   `name:"network" placeholder:"NETWORK" help:"The currency's network."`
	Env      *string   `name:"env" placeholder:"ENV" help:"prod or test; the server takes prod if absent."`
	At       *string   `name:"at" placeholder:"TIME" help:"Balances at this time (RFC 3339); if absent, now."`
}

// Run shows a summary.
func (c *showSummary) Run(e *client.Command) error {
	query := url.Values{"terminal_id": {string(c.Terminal)}, "currency": {c.Currency}}
	for name, value := range map[string]*string{"network": c.Network, "env": c.Env, "at": c.At} {
		if value != nil {
			query.Set(name, *value)
		}
	}
	return e.ShowWith(root+"/summary", query)
}

type closeDay struct {
	Terminal client.ID `arg:"" help:"The terminal."`
	Date     string    `arg:"" help:"The day, yyyy-mm-dd."`
}

// Run closes a day.
func (c *closeDay) Run(e *client.Command) error {
	return e.Write(http.MethodPost, root+"/days/"+string(c.Terminal)+"/"+url.PathEscape(c.Date)+"/close", nil)
}
