package ledgerapi

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"mizan/api/ledger/export"
	"mizan/api/web"
	"mizan/api/web/journal"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// The length of an export is estimated from samples of its events. If the export has fewer events than all samples together,
// there is no estimate.
const (
	exportSamples    = 16
	sampleEvents     = 128 // events of one sample
	minSampleEntries = 50  // if all samples together have fewer entries, there is no estimate
)

// An export reads the journal in pieces; these are the bounds of one piece. No view is open between two pieces, because an open
// view keeps data from being compacted, and a slow reader may take an hour.
const (
	exportEvents   = 2048
	exportPostings = 8192
	exportAccounts = 1024
)

// ledgerBook reads one organization's journal for an export.
type ledgerBook struct {
	ctx     context.Context // context of the export; the book is used only during the export
	journal web.Journal
	org     ledger.ID
	env     money.Env
	first   uint64                   // seq of the first event in the export
	last    uint64                   // seq of the last event; if it is less than first, the export has no events
	authors map[ledger.Author]string // ids of the authors' records that were read so far; at most maxExportAuthors
}

// Book is the content of an export. The content is read from the journal while the export is written.
type Book struct {
	*export.Book
	source *ledgerBook
}

// Book returns the content of an export of the range. The call determines the last event of the export. All later reads show
// that moment, because events never change.
func (h *Handlers) Book(ctx context.Context, r *Range, org ledger.ID) (*Book, error) {
	book := &ledgerBook{ctx: ctx, journal: h.cfg.Journal, org: org, env: r.Env}
	view := h.cfg.Journal.View()
	defer view.Close()
	var err error
	if r.To == web.Forever {
		book.last, _, err = view.Head(org)
	} else {
		book.last, err = view.SeqAt(org, r.To)
	}
	if err != nil {
		return nil, err
	}
	book.first = 1
	if r.From > 0 {
		before, err := view.SeqAt(org, r.From-1)
		if err != nil {
			return nil, err
		}
		book.first = before + 1
	}
	end := r.Until
	if r.To == web.Forever {
		ends, err := journal.LastBooked(view, org, h.cfg.Clock.Now())
		if err != nil {
			return nil, err
		}
		end = ends.Time().Format(time.RFC3339Nano)
	}
	return &Book{&export.Book{
		Organization: org, Env: r.Env, From: r.Since, To: end, Last: book.last, Prefix: r.Prefix,
		Accounts: book.accounts(), Entries: book.entries(), Held: book.heldPostings, AuthorID: book.authorID,
	}, book}, nil
}

// EstimateBytes returns the estimated length of the export in bytes. It exports samples from the whole range and extrapolates
// from their length, which does not include the list of accounts in the heading. If the export is not longer than the samples,
// or if too few entries in the samples have the export's prefix and environment, it returns 0.
func (b *Book) EstimateBytes(format export.Format) (int64, error) {
	source := b.source
	if source.last < source.first+exportSamples*sampleEvents {
		return 0, nil
	}
	events := source.last - source.first + 1
	sampled := uint64(0)
	sample := *b.Book
	sample.Accounts = func(func(ledger.Account, error) bool) {}
	sample.Entries = func(yield func(*ledger.Event, error) bool) {
		for i := range uint64(exportSamples) {
			page, err := source.nextEvents(source.first+i*(events/exportSamples), sampleEvents)
			if err != nil {
				yield(nil, err)
				return
			}
			sampled += uint64(len(page))
			for j := range page {
				if !yield(&page[j], nil) {
					return
				}
			}
		}
	}
	var whole, empty byteCounter
	if count, err := export.Write(&whole, format, &sample); err != nil || count.Entries < minSampleEntries {
		return 0, err
	}
	sample.Entries = func(func(*ledger.Event, error) bool) {}
	if _, err := export.Write(&empty, format, &sample); err != nil {
		return 0, err
	}
	return int64(empty) + int64(float64(whole-empty)*float64(events)/float64(sampled)), nil
}

// byteCounter counts the bytes that are written to it.
type byteCounter int64

// Write implements io.Writer.
func (c *byteCounter) Write(p []byte) (int, error) {
	*c += byteCounter(len(p))
	return len(p), nil
}

func (b *ledgerBook) accounts() iter.Seq2[ledger.Account, error] {
	return func(yield func(ledger.Account, error) bool) {
		var last *ledger.Account
		for {
			page, err := b.nextAccounts(last)
			if err != nil {
				yield(ledger.Account{}, err)
				return
			}
			for _, a := range page {
				if !yield(a, nil) {
					return
				}
			}
			if len(page) < exportAccounts {
				return
			}
			last = &page[len(page)-1]
		}
	}
}

// nextAccounts returns the next accounts after last, or the first accounts if last is nil.
func (b *ledgerBook) nextAccounts(last *ledger.Account) (page []ledger.Account, err error) {
	if b.ctx.Err() != nil {
		return nil, context.Cause(b.ctx)
	}
	view := b.journal.View()
	defer view.Close()
	err = view.AccountsFrom(b.org, "", b.env, last, func(a ledger.Account) (bool, error) {
		page = append(page, a)
		return len(page) < exportAccounts, nil
	})
	return page, err
}

func (b *ledgerBook) entries() iter.Seq2[*ledger.Event, error] {
	return func(yield func(*ledger.Event, error) bool) {
		for next := b.first; next <= b.last; {
			events, err := b.nextEvents(next, exportEvents)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range events {
				if !yield(&events[i], nil) {
					return
				}
			}
			next += uint64(len(events))
		}
	}
}

// nextEvents returns at most maxEvents events, beginning with the event whose seq is first. It returns at least one event,
// because sequence numbers have no gaps.
func (b *ledgerBook) nextEvents(first uint64, maxEvents int) (events []ledger.Event, err error) {
	if b.ctx.Err() != nil {
		return nil, context.Cause(b.ctx)
	}
	view := b.journal.View()
	defer view.Close()
	postings := 0
	err = view.EventsAscending(b.org, first, func(e ledger.Event, _ []byte) (bool, error) {
		if e.Seq > b.last {
			return false, nil
		}
		events = append(events, e)
		if e.Entry != nil {
			postings += len(e.Entry.Postings)
		}
		return len(events) < maxEvents && postings < exportPostings, nil
	})
	if err == nil && len(events) == 0 {
		err = fmt.Errorf("organization %v: event %d is missing", b.org, first)
	}
	return events, err
}

// maxExportAuthors is the maximum number of authors whose ids an export keeps in memory.
const maxExportAuthors = 10_000

// authorID returns the id of an author's record. It reads the record from the store: the directory in memory does not exist
// when a command exports while the server is stopped.
func (b *ledgerBook) authorID(author ledger.Author) (string, error) {
	if id, known := b.authors[author]; known {
		return id, nil
	}
	view := b.journal.View()
	defer view.Close()
	creation, _, found, err := view.Event(b.org, author.Seq)
	if err == nil && !found {
		err = fmt.Errorf("organization %v: event %d created no author", b.org, author.Seq)
	}
	if err != nil {
		return "", err
	}
	id := creation.Source.ID.String()
	if creation.Source.Kind == ledger.Partner {
		stored, _, err := view.Record(b.org, creation.Source)
		if err != nil {
			return "", err
		}
		partner, err := directory.Partners.Read(schema.RowMetadata{Org: b.org, ID: creation.Source.ID}, stored.Payload, schema.NoKeys)
		if err != nil {
			return "", fmt.Errorf("organization %v: partner %v: %w", b.org, creation.Source.ID, err)
		}
		id = strconv.FormatInt(partner.Number, 10)
	}
	if b.authors == nil || len(b.authors) >= maxExportAuthors {
		b.authors = make(map[ledger.Author]string)
	}
	b.authors[author] = id
	return id, nil
}

// heldPostings returns the postings of the pending entry with the given seq.
func (b *ledgerBook) heldPostings(seq uint64) ([]ledger.Posting, error) {
	view := b.journal.View()
	defer view.Close()
	e, _, found, err := view.Event(b.org, seq)
	if err == nil && (!found || e.Entry == nil) {
		err = fmt.Errorf("organization %v: event %d holds nothing", b.org, seq)
	}
	if err != nil {
		return nil, err
	}
	return e.Entry.Postings, nil
}
