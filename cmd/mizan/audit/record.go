package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/google/uuid"

	"mizan/cmd/mizan/cli"
	"mizan/internal/clock"
	"mizan/internal/durable"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check"
)

// maxRecordFile bounds the size of a record file in bytes. The file contains a header of at most a few hundred bytes, and then
// the payload.
const maxRecordFile = posting.MaxRecord + 4<<10

// recordMode is the permission mode of a record file. The file may contain confidential fields.
const recordMode = 0o600

// recordCommand is `mizan audit record`.
type recordCommand struct {
	Seq          uint64 `arg:"" help:"The sequence number, in the journal, of any event of the record."`
	Data         string `name:"data" env:"MIZAN_DATA" default:"./data" placeholder:"DIR" help:"Data directory; no server may be using it."`
	Organization string `name:"organization" required:"" placeholder:"ID" help:"The organization whose journal contains the event."`
	Out          string `name:"out" required:"" placeholder:"FILE" help:"New file for the record's bytes."`
}

// Run implements the command. The last event of a record contains the hash of the stored record. So a proof of the last event
// proves the record's bytes.
func (c *recordCommand) Run(s *cli.Streams) (err error) {
	const name = "audit record"
	org, err := uuid.Parse(c.Organization)
	if err != nil || org == (ledger.ID{}) {
		return misused(name, "--organization: %q is not the UUID of an organization", c.Organization)
	}
	if err := check.RequireStore(c.Data); err != nil {
		return cli.StorageFault("%v", err)
	}
	journal, err := posting.Open(posting.Options{
		Store: store.Options{Dir: c.Data, Log: slog.New(slog.DiscardHandler), MustExist: true}, Clock: clock.Real{}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return cli.OpenFault(err)
	}
	defer func() {
		if closeErr := journal.Close(); closeErr != nil && err == nil {
			err = cli.StorageFault("%v", closeErr)
		}
	}()
	lastSeq, record, err := c.readRecord(journal, org)
	if err != nil {
		return err
	}
	if err := durable.Create(c.Out, recordMode, record); errors.Is(err, fs.ErrExist) {
		return misused(name, "--out: %s is there already", c.Out)
	} else if err != nil {
		return misused(name, "--out: %s can't be written: %v", c.Out, fileSystemCause(err))
	}
	_, err = fmt.Fprintf(s.Err, "mizan: %s: %s is what is stored of the record; `mizan audit prove %d` proves it\n", name, c.Out, lastSeq)
	return err
}

// readRecord returns the stored bytes of the record to which the event with the number c.Seq belongs. It also returns the
// number of the record's last event.
func (c *recordCommand) readRecord(j *posting.Journal, org ledger.ID) (lastSeq uint64, record []byte, err error) {
	const name = "audit record"
	view := j.View()
	defer view.Close()
	e, _, found, err := view.Event(org, c.Seq)
	if err != nil {
		return 0, nil, cli.StorageFault("%v", err)
	}
	if !found {
		return 0, nil, misused(name, "event %d is not in the journal of organization %s", c.Seq, org)
	}
	stored, found, err := view.Record(org, e.Source)
	if err == nil && found {
		record, found, err = view.StoredRecord(org, e.Source)
	}
	switch {
	case err != nil:
		return 0, nil, cli.StorageFault("%v", err)
	case !found:
		return 0, nil, misused(name, "event %d belongs to no record", c.Seq)
	}
	return stored.Header.LastSeq, record, nil
}
