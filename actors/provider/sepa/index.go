package sepa

import (
	"cmp"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/money"
)

// Bounds of the index of one terminal.
const (
	maxFiles    = 20_000  // files in in/; if there are more, the oldest are not read
	maxBookings = 500_000 // payouts; if there are more, the ones that were read first are forgotten
)

// state is what the bank has booked for one payout.
type state struct {
	debit, credit *bookedSide // nil: not booked
}

type bookedSide struct {
	amount money.Amount
	bankID string
	reason string
	seenAt time.Time // when the adapter has read it first, by the business clock
}

// stamp tells whether a file has changed since it was read.
type stamp struct {
	size    int64
	changed time.Time
}

// bookings is the index of one terminal's bookings.
type bookings struct {
	clock clock.Clock
	log   *slog.Logger

	mu     sync.Mutex
	iban   string               // guarded by mu: the account for which files were read
	files  map[string]stamp     // guarded by mu: the files that were read, or that cannot be read
	states map[ledger.ID]*state // guarded by mu
	order  []ledger.ID          // guarded by mu: the references in states, in the order in which they were read
}

func newBookings(c clock.Clock, log *slog.Logger) *bookings {
	return &bookings{clock: c, log: log, files: make(map[string]stamp), states: make(map[ledger.ID]*state)}
}

// update reads the new and changed files of the folder. A file that cannot be used is logged and does not count.
func (b *bookings) update(folder, iban string) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // before the first file there may be no folder
		return err
	}
	type file struct {
		name string
		stamp
	}
	var files []file
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") || !entry.Type().IsRegular() {
			continue // a temporary name of the transport
		}
		info, err := entry.Info()
		if err != nil {
			continue // it was moved meanwhile
		}
		files = append(files, file{entry.Name(), stamp{info.Size(), info.ModTime()}})
	}
	slices.SortFunc(files, func(x, y file) int { return cmp.Or(x.changed.Compare(y.changed), cmp.Compare(x.name, y.name)) })
	if surplus := len(files) - maxFiles; surplus > 0 {
		b.log.Error("a SEPA folder has too many files: the oldest are not read; move old files elsewhere", "folder", folder, "not_read", surplus)
		files = files[surplus:]
	}
	if b.iban != iban {
		b.iban, b.files = iban, nil // the terminal has got another account: every file is read again
	}
	present := make(map[string]stamp, len(files))
	for _, f := range files {
		if b.files[f.name] == f.stamp {
			present[f.name] = f.stamp
			continue
		}
		found, err := readBookings(filepath.Join(folder, f.name), iban)
		if _, isOfStorage := errors.AsType[*fs.PathError](err); !isOfStorage {
			present[f.name] = f.stamp // otherwise the file is read again
		}
		if err != nil {
			b.log.Error("a file of the bank cannot be used", "file", filepath.Join(folder, f.name), "error", err)
			continue
		}
		for i := range found {
			b.add(&found[i], f.name)
		}
	}
	b.files = present
	return nil
}

// add adds a booking. The same booking may be in several files: a notification, a statement, and copies of both.
func (b *bookings) add(found *booking, file string) {
	s := b.states[found.reference]
	if s == nil {
		if len(b.order) == maxBookings {
			delete(b.states, b.order[0])
			b.order = b.order[1:]
		}
		s = new(state)
		b.states[found.reference] = s
		b.order = append(b.order, found.reference)
	}
	side := &s.debit
	if found.isReturn {
		side = &s.credit
	}
	switch {
	case *side == nil:
		*side = &bookedSide{found.amount, found.bankID, found.reason, b.clock.Now()}
	case (*side).bankID != found.bankID && (*side).bankID != "" && found.bankID != "":
		b.log.Error("the bank has booked a payout twice; ask the bank", "reference", found.reference.String(), "file", file, "is_return", found.isReturn,
			"first", (*side).bankID, "second", found.bankID)
	}
}
