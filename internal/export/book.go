package export

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strings"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Format is a form of export. The zero value is invalid.
type Format uint8

// The formats.
const (
	HLedger Format = iota + 1
	Beancount
	CSV
	Parquet
	XLSX
)

// form is what is known of a format.
type form struct {
	name, extension, media string
	write                  func(io.Writer, *reading) error
}

var forms = [...]form{
	HLedger:   {"hledger", "journal", "text/plain; charset=utf-8", writeHLedger},
	Beancount: {"beancount", "beancount", "text/plain; charset=utf-8", writeBeancount},
	CSV:       {"csv", "csv", "text/csv; charset=utf-8", writeCSV},
	Parquet:   {"parquet", "parquet", "application/vnd.apache.parquet", writeParquet},
	XLSX:      {"xlsx", "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", writeXLSX},
}

// Names are the formats' names in the order of the constants.
func Names() (names []string) {
	for _, f := range forms[HLedger:] {
		names = append(names, f.name)
	}
	return names
}

// ParseFormat finds a format by its exact name.
func ParseFormat(name string) (Format, bool) {
	for f := HLedger; int(f) < len(forms); f++ {
		if forms[f].name == name {
			return f, true
		}
	}
	return 0, false
}

// String is the format's name.
func (f Format) String() string { return forms[f].name }

// Extension is the usual end of a file's name, without the dot.
func (f Format) Extension() string { return forms[f].extension }

// MediaType is the Content-Type.
func (f Format) MediaType() string { return forms[f].media }

// Book is what is exported: one organization's entries in one environment.
type Book struct {
	Organization ledger.ID
	Env          money.Env
	From, To     string // the range as a heading shows it; From may be empty: from the first event on
	Last         uint64 // seq of the last event by the end of the range; 0: there is none
	Prefix       string // only entries that touch an account whose path begins so

	// Accounts are all accounts of the environment that have ever had a line,
	// ordered by path. They may be more than Entries has.
	Accounts iter.Seq2[ledger.Account, error]

	// Entries are the events of the range, in the order of their seq. Events without
	// an entry and those of another environment are passed over. An event is not
	// changed after it was yielded.
	Entries iter.Seq2[*ledger.Event, error]

	// Held are the postings of the pending entry with the seq, which may be before
	// the range.
	Held func(seq uint64) ([]ledger.Posting, error)
}

// Count is how much was exported.
type Count struct{ Entries, Postings uint64 }

// Write writes the book in the format. An error is the Book's, the Writer's, or says
// that an asset has no name of its own in the format; what was written by then is not
// whole.
func Write(w io.Writer, f Format, b *Book) (Count, error) {
	if f < HLedger || int(f) >= len(forms) {
		return Count{}, fmt.Errorf("export: format %d", f)
	}
	r := &reading{Book: b, holds: newHolds()}
	out := bufio.NewWriterSize(w, bufferSize)
	if err := forms[f].write(out, r); err != nil {
		return r.count, err
	}
	return r.count, out.Flush()
}

// bufferSize is how much is written at once.
const bufferSize = 64 << 10

// reading is a book being read.
type reading struct {
	*Book
	holds *holds
	count Count
}

// each calls fn with the entries of the export.
func (r *reading) each(fn func(*ledger.Event) error) error {
	for e, err := range r.Entries {
		if err != nil {
			return err
		}
		if e.Entry == nil || e.Entry.Postings[0].Asset.Env != r.Env { // nothing crosses environments
			continue
		}
		wanted, err := r.wants(e.Entry)
		if err != nil {
			return err
		}
		if !wanted {
			continue
		}
		if e.Entry.Phase == ledger.Pending {
			r.holds.remember(e)
		}
		r.count.Entries++
		r.count.Postings += uint64(len(e.Entry.Postings))
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

// wants tells whether an entry touches the prefix, by what it posts or by what it
// releases: where a hold is in the export, what ends it is too.
func (r *reading) wants(entry *ledger.Entry) (bool, error) {
	if r.Prefix == "" || below(r.Prefix, entry.Postings) {
		return true, nil
	}
	if entry.Phase != ledger.Capture {
		return false, nil
	}
	held, err := r.held(entry.Closes)
	return below(r.Prefix, held), err
}

func below(prefix string, postings []ledger.Posting) bool {
	for i := range postings {
		if strings.HasPrefix(string(postings[i].Account), prefix) {
			return true
		}
	}
	return false
}

// held is what the pending entry holds.
func (r *reading) held(seq uint64) ([]ledger.Posting, error) {
	if postings, ok := r.holds.take(seq); ok {
		return postings, nil
	}
	return r.Held(seq)
}

// released is what the entry gives back of what was pending.
func (r *reading) released(entry *ledger.Entry) ([]ledger.Posting, error) {
	switch entry.Phase {
	case ledger.Void:
		return entry.Postings, nil
	case ledger.Capture:
		return r.held(entry.Closes)
	}
	return nil, nil
}

// eachPath calls fn with every account's path and the assets that it is in. For a
// prefix that no account has, there are none: the export is empty.
func (r *reading) eachPath(fn func(path ledger.Path, assets []money.Asset) error) error {
	some := r.Prefix == ""
	for a, err := range r.Accounts {
		if err != nil {
			return err
		}
		if some = some || strings.HasPrefix(string(a.Path), r.Prefix); some {
			break
		}
	}
	if !some {
		return nil
	}
	var path ledger.Path
	var assets []money.Asset
	for a, err := range r.Accounts {
		if err != nil {
			return err
		}
		if a.Path != path && path != "" {
			if err := fn(path, assets); err != nil {
				return err
			}
			assets = assets[:0]
		}
		path = a.Path
		assets = append(assets, a.Asset)
	}
	if path == "" {
		return nil
	}
	return fn(path, assets)
}

// maxHolds is how many holds are remembered: most are captured or void soon, and
// those that are not are looked up.
const maxHolds = 4096

// holds remember the postings of the last pending entries.
type holds struct {
	postings map[uint64][]ledger.Posting
	order    [maxHolds]uint64 // by age, in a ring
	next     int
}

func newHolds() *holds { return &holds{postings: make(map[uint64][]ledger.Posting)} }

func (h *holds) remember(e *ledger.Event) {
	delete(h.postings, h.order[h.next])
	h.order[h.next] = e.Seq
	h.next = (h.next + 1) % maxHolds
	h.postings[e.Seq] = e.Entry.Postings
}

func (h *holds) take(seq uint64) ([]ledger.Posting, bool) {
	postings, ok := h.postings[seq]
	return postings, ok
}
