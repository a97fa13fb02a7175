package snapshots

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"mizan/ledger"
)

// cutCalls takes the calls out of the simulator's log that the store knows no
// intent of: they were made after the moment that the backup shows, and for the
// restored sandbox they never were.
func (c *checker) cutCalls(dir string) error {
	path := filepath.Join(dir, simulatorLog)
	in, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	next := path + ".new"
	out, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = c.keepCalls(in, out)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// keepCalls copies the lines of calls of which there is an intent. A call that is
// sent again has one for all times.
func (c *checker) keepCalls(in io.Reader, out io.Writer) error {
	r, w := bufio.NewReaderSize(in, 1<<20), bufio.NewWriterSize(out, 1<<20)
	kept := make(map[callKind]uint8)
	requests := make(map[ledger.ID]bool)
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return w.Flush() // what is cut short was never answered
		}
		if err != nil {
			return err
		}
		if err := c.alive(); err != nil {
			return err
		}
		var made call
		if json.Unmarshal(line, &made) == nil && !c.intended(&made, kept, requests) {
			continue
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
}

// callKind is a kind of call that a transaction makes.
type callKind struct {
	org, transaction ledger.ID
	what             operation
}

// intended tells whether the store knows that the call was to be made: as many
// calls of a kind as there are intents. What nobody can read is left to the
// checker.
func (c *checker) intended(made *call, kept map[callKind]uint8, requests map[ledger.ID]bool) bool {
	o := c.organizations[made.Org]
	if o == nil {
		return false
	}
	h := o.histories.find(ledger.Source{Kind: ledger.Transaction, ID: made.Reference})
	if h == nil || h.asked[callCharge] == 0 {
		return false
	}
	what, known := calls[made.Operation]
	if !known || what != callCharge && what != callComplete && requests[made.Request] {
		return true
	}
	k := callKind{made.Org, made.Reference, what}
	if kept[k] >= h.asked[what] {
		return false
	}
	kept[k]++
	requests[made.Request] = true
	return true
}
