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

// Format is an export format. The zero value is invalid.
type Format uint8

// The formats.
const (
	HLedger Format = iota + 1
	Beancount
	CSV
	Parquet
	XLSX
)

// formatInfo describes a format.
type formatInfo struct {
	name, extension, media string
	write                  func(io.Writer, *exporter) error
}

var formatInfos = [...]formatInfo{
	HLedger:   {"hledger", "journal", "text/plain; charset=utf-8", writeHLedger},
	Beancount: {"beancount", "beancount", "text/plain; charset=utf-8", writeBeancount},
	CSV:       {"csv", "csv", "text/csv; charset=utf-8", writeCSV},
	Parquet:   {"parquet", "parquet", "application/vnd.apache.parquet", writeParquet},
	XLSX:      {"xlsx", "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", writeXLSX},
}

// Names returns the formats' names in the order of the constants.
func Names() (names []string) {
	for _, f := range formatInfos[HLedger:] {
		names = append(names, f.name)
	}
	return names
}

// ParseFormat finds a format by its exact name.
func ParseFormat(name string) (Format, bool) {
	for f := HLedger; int(f) < len(formatInfos); f++ {
		if formatInfos[f].name == name {
			return f, true
		}
	}
	return 0, false
}

// String returns the format's name.
func (f Format) String() string { return formatInfos[f].name }

// Extension returns the usual file extension, without the dot.
func (f Format) Extension() string { return formatInfos[f].extension }

// MediaType returns the Content-Type.
func (f Format) MediaType() string { return formatInfos[f].media }

// Book is the content of an export: one organization's entries in one environment.
type Book struct {
	Organization ledger.ID
	Env          money.Env
	From, To     string // the range, as text for a heading; if From is empty, the range begins with the first event
	Last         uint64 // seq of the last event in the range; 0 if none
	Prefix       string // only entries with an account whose path has this prefix

	// Accounts yields all accounts of the environment that ever had a posting, ordered by path. It includes accounts on which
	// no entry in Entries has a posting.
	Accounts iter.Seq2[ledger.Account, error]

	// Entries yields the events of the range, ordered by seq. The export skips events that have no entry or belong to another
	// environment. An event must not change after it was yielded, because the export may keep it.
	Entries iter.Seq2[*ledger.Event, error]

	// Held returns the postings of the pending entry with the given seq. The entry may have been booked before the range.
	Held func(seq uint64) ([]ledger.Posting, error)

	// AuthorID returns the id of an author's record: the id of a key or a user, or the number of a partner. It is called only
	// for authors that have a record. Exports contain no names of authors, because a name may change later.
	AuthorID func(ledger.Author) (string, error)
}

// Count is the number of entries and the number of postings in an export.
type Count struct{ Entries, Postings uint64 }

// Write writes the book in the format f. It returns an error of the Book or of the Writer, or an error that says that an asset
// has no unique name in the format. After an error the output is incomplete.
func Write(w io.Writer, f Format, b *Book) (Count, error) {
	if f < HLedger || int(f) >= len(formatInfos) {
		return Count{}, fmt.Errorf("export: format %d", f)
	}
	x := &exporter{Book: b, holds: newHolds()}
	out := bufio.NewWriterSize(w, bufferSize)
	if err := formatInfos[f].write(out, x); err != nil {
		return x.count, err
	}
	return x.count, out.Flush()
}

// bufferSize is the number of bytes that are written at a time.
const bufferSize = 64 << 10

// exporter reads a Book for the writers of all formats.
type exporter struct {
	*Book
	holds *holds
	count Count
}

// eachEntry calls fn with each event whose entry belongs to the export.
func (x *exporter) eachEntry(fn func(*ledger.Event) error) error {
	for e, err := range x.Entries {
		if err != nil {
			return err
		}
		if e.Entry == nil || e.Entry.Postings[0].Asset.Env != x.Env { // all postings of an entry have the same environment
			continue
		}
		included, err := x.includes(e.Entry)
		if err != nil {
			return err
		}
		if !included {
			continue
		}
		if e.Entry.Phase == ledger.Pending {
			x.holds.remember(e)
		}
		x.count.Entries++
		x.count.Postings += uint64(len(e.Entry.Postings))
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

// authorOf returns the kind of an event's author and, if the author has a record, its id.
func (x *exporter) authorOf(e *ledger.Event) (kind, id string, err error) {
	if e.Author.Kind.HasRecord() {
		id, err = x.AuthorID(e.Author)
	}
	return e.Author.Kind.String(), id, err
}

// includes tells whether an entry belongs to an export with a prefix. That is the case if one of the entry's postings, or one
// of the postings of the hold that the entry releases, is on an account with the prefix. So if a hold is exported, its capture
// or void is exported, too.
func (x *exporter) includes(entry *ledger.Entry) (bool, error) {
	if x.Prefix == "" || anyBelow(x.Prefix, entry.Postings) {
		return true, nil
	}
	if entry.Phase != ledger.Capture {
		return false, nil
	}
	held, err := x.heldPostings(entry.Closes)
	return anyBelow(x.Prefix, held), err
}

func anyBelow(prefix string, postings []ledger.Posting) bool {
	for i := range postings {
		if strings.HasPrefix(string(postings[i].Account), prefix) {
			return true
		}
	}
	return false
}

// heldPostings returns the postings of the pending entry with the given seq.
func (x *exporter) heldPostings(seq uint64) ([]ledger.Posting, error) {
	if postings, ok := x.holds.get(seq); ok {
		return postings, nil
	}
	return x.Held(seq)
}

// released returns the pending postings that the entry releases.
func (x *exporter) released(entry *ledger.Entry) ([]ledger.Posting, error) {
	switch entry.Phase {
	case ledger.Void:
		return entry.Postings, nil
	case ledger.Capture:
		return x.heldPostings(entry.Closes)
	}
	return nil, nil
}

// eachPath calls fn with the path and the assets of every account, including accounts without the prefix, because an exported
// entry may have postings on any account. But if no account has the prefix, no entry is exported, and fn is not called.
func (x *exporter) eachPath(fn func(path ledger.Path, assets []money.Asset) error) error {
	hasPrefix := x.Prefix == ""
	for a, err := range x.Accounts {
		if err != nil {
			return err
		}
		if hasPrefix = hasPrefix || strings.HasPrefix(string(a.Path), x.Prefix); hasPrefix {
			break
		}
	}
	if !hasPrefix {
		return nil
	}
	var path ledger.Path
	var assets []money.Asset
	for a, err := range x.Accounts {
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

// maxHolds is the number of holds (entries that reserve money) whose postings are cached in memory. A small number is enough,
// because most holds are captured or voided soon. Book.Held returns the postings of holds that are not cached.
const maxHolds = 4096

// holds caches the postings of the newest pending entries.
type holds struct {
	postings map[uint64][]ledger.Posting
	order    [maxHolds]uint64 // ring buffer with the seqs of the cached entries, oldest first
	next     int
}

func newHolds() *holds { return &holds{postings: make(map[uint64][]ledger.Posting)} }

func (h *holds) remember(e *ledger.Event) {
	delete(h.postings, h.order[h.next])
	h.order[h.next] = e.Seq
	h.next = (h.next + 1) % maxHolds
	h.postings[e.Seq] = e.Entry.Postings
}

func (h *holds) get(seq uint64) ([]ledger.Posting, bool) {
	postings, ok := h.postings[seq]
	return postings, ok
}
