package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/client"
	"mizan/internal/durable"
	"mizan/internal/progress"
)

// exportMode is the permission mode of an export file. Only the owner may read the file, because it contains the ledger's
// entries.
const exportMode = 0o600

// exportCommand is `mizan audit export`.
type exportCommand struct {
	client.LedgerFlags
	Format  string  `name:"format" required:"" placeholder:"FORMAT" help:"hledger, beancount, csv, parquet or xlsx."`
	Env     *string `name:"env" placeholder:"ENV" help:"prod, which is the default, or test."`
	From    *string `name:"from" placeholder:"TIME" help:"Only entries booked at or after this RFC 3339 time, or day."`
	To      *string `name:"to" placeholder:"TIME" help:"Only entries booked at or before this RFC 3339 time, or day."`
	Account *string `name:"account" placeholder:"PREFIX" help:"Only entries that touch an account whose path begins with this."`
	Out     *string `name:"out" placeholder:"FILE" help:"New file for the export; without it, or with -, stdout."`
}

// Run implements the command. The export file gets its final name when it is complete.
func (c *exportCommand) Run(s *cli.Streams) error {
	const name = "audit export"
	ledger, err := c.Open(name, s)
	if err != nil {
		return err
	}
	query, err := c.query(ledger)
	if err != nil {
		return err
	}
	outFile, err := c.destination(ledger)
	if err != nil {
		return err
	}
	ctx, stop := cli.SignalContext()
	defer stop()
	response, err := ledger.Stream(ctx, "/ledger/export", query)
	if err != nil {
		return err
	}
	defer func() { _ = response.Close() }()
	t := newTransfer(s, name, response.EstimatedBytes)
	if outFile == "" {
		err = t.copy(s.Out, response)
	} else {
		err = writeFile(outFile, t, response)
	}
	t.meter.End()
	var writeErr *writeFault
	switch {
	case errors.Is(err, fs.ErrExist):
		return ledger.Misused("--out: %s is there already", outFile)
	case errors.As(err, &writeErr) && outFile != "":
		return ledger.Failed("--out: %s can't be written: %v", outFile, fileSystemCause(writeErr.err))
	case errors.As(err, &writeErr):
		return ledger.Failed("%v", writeErr.err)
	case ctx.Err() != nil:
		return ledger.Failed("interrupted: the export is not whole")
	case err != nil:
		return ledger.Failed("the export is not whole: %v", err)
	}
	return t.report(s.Err, name)
}

// query returns the parameters of the request. It refuses a flag with an empty value. Otherwise a script with an unset variable
// would export everything.
func (c *exportCommand) query(l *client.Ledger) (url.Values, error) {
	query := url.Values{"format": {c.Format}}
	for _, option := range []struct {
		flag, name string
		value      *string
	}{{"format", "format", &c.Format}, {"env", "env", c.Env}, {"from", "from", c.From}, {"to", "to", c.To}, {"account", "prefix", c.Account}} {
		switch {
		case option.value == nil:
		case *option.value == "":
			return nil, l.Misused("--%s: is empty", option.flag)
		case strings.ContainsRune(*option.value, utf8.RuneError): // kong replaces bytes that are not UTF-8 by this character
			return nil, l.Misused("--%s: is not UTF-8", option.flag)
		default:
			query.Set(option.name, *option.value)
		}
	}
	return query, nil
}

// destination returns the path of the export file. An empty path means stdout.
func (c *exportCommand) destination(l *client.Ledger) (string, error) {
	if c.Out == nil || *c.Out == "-" {
		return "", nil
	}
	if *c.Out == "" {
		return "", l.Misused("--out: is empty")
	}
	if _, err := os.Lstat(*c.Out); err == nil {
		return "", l.Misused("--out: %s is there already", *c.Out)
	}
	if _, err := os.Stat(filepath.Dir(*c.Out)); err != nil {
		return "", l.Misused("--out: %v", err)
	}
	return *c.Out, nil
}

// writeFile writes the export into a temporary file. When the export is complete, the file gets its final name.
func writeFile(outFile string, t *transfer, from io.Reader) error {
	f, err := os.CreateTemp(filepath.Dir(outFile), "."+filepath.Base(outFile)+".*.tmp")
	if err != nil {
		return &writeFault{err}
	}
	defer func() { _ = os.Remove(f.Name()) }()
	if err := t.copy(f, from); err != nil {
		_ = f.Close()
		return err
	}
	if err := errors.Join(f.Chmod(exportMode), f.Sync(), f.Close()); err != nil {
		return &writeFault{err}
	}
	if err := os.Link(f.Name(), outFile); err != nil {
		return &writeFault{err}
	}
	if err := durable.SyncDir(filepath.Dir(outFile)); err != nil {
		return &writeFault{err}
	}
	return nil
}

// writeFault is an error that occurred while the export was written, not while it was received.
type writeFault struct{ err error }

// Error implements error.
func (f *writeFault) Error() string { return f.err.Error() }

// Unwrap returns the wrapped error, which errors.Is needs.
func (f *writeFault) Unwrap() error { return f.err }

// transfer copies an export and shows how much has been copied.
type transfer struct {
	meter     *progress.Meter
	startedAt time.Time
	bytes     int64
}

// newTransfer begins to show the progress of an export. estimated is the approximate size of the export in bytes, or 0 if the
// size is unknown.
func newTransfer(s *cli.Streams, name string, estimated uint64) *transfer {
	t := &transfer{meter: s.Progress(name), startedAt: time.Now()}
	t.meter.Begin("", "", estimated)
	return t
}

// copy copies the whole export and shows the progress. If writing fails, the error is a *writeFault.
func (t *transfer) copy(to io.Writer, from io.Reader) error {
	buf := make([]byte, 256<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return &writeFault{err}
			}
			t.bytes += int64(n)
			t.meter.Count(uint64(n))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// report writes the last line, which shows the size of the export and how long it took.
func (t *transfer) report(out io.Writer, name string) error {
	_, err := fmt.Fprintf(out, "mizan: %s: %d bytes in %.1f s\n", name, t.bytes, time.Since(t.startedAt).Seconds())
	return err
}
