package testkit

import (
	"crypto/rand"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/posting"
	"mizan/posting/store"
)

// worldMemTable is the size in bytes of a world's memtables (Badger's tables in memory). It is the smallest size with which
// the store accepts values that are as long as on a server. A server's memtables are larger, and allocating and clearing them
// takes longer than most tests.
const worldMemTable = 8 << 20

// World has everything that services need inside a test's process: a store in a directory of the test, the journal on it, the
// actors' runtime, a keyring, and a clock that only the test moves. A test may close the world and open it again; stored data
// is kept.
type World struct {
	Dir     string // directory of the store; a test may put other files there too
	Clock   *clock.Manual
	Keyring *secret.Keyring
	Journal *posting.Journal
	Runtime *actors.Runtime // nil if the world was opened with OpenJournal

	// The options with which Open opens the journal and makes the runtime. A test may change them before it calls Open. Open
	// uses the journal that it opens as RuntimeOptions.Journal, and World.Clock if an option Clock is nil.
	JournalOptions posting.Options
	RuntimeOptions actors.Options

	tb testing.TB
}

// NewWorld makes a world with an empty store and a clock that shows the given time. The world is not open. It is closed at
// the end of the test.
func NewWorld(tb testing.TB, clockTime time.Time) *World {
	tb.Helper()
	emptyStore.once.Do(func() { emptyStore.image, emptyStore.err = newStoreImage() })
	if emptyStore.err != nil {
		tb.Fatal(emptyStore.err)
	}
	w := emptyStore.image.newWorld(tb, clockTime)
	var err error
	if w.Keyring, err = secret.CreateKeyring(filepath.Join(w.Dir, keyringFile), rand.Reader); err != nil {
		tb.Fatal(err)
	}
	w.setOptions()
	return w
}

// setOptions sets the options of the journal and of the runtime.
func (w *World) setOptions() {
	discardLog := slog.New(slog.DiscardHandler)
	w.JournalOptions = posting.Options{Store: store.Options{Dir: w.Dir, Log: discardLog, MemTable: worldMemTable}, Log: discardLog}
	w.RuntimeOptions = actors.Options{Log: discardLog, Sealer: w.Keyring}
}

// OpenJournal opens the journal without a runtime, so that no timer fires.
func (w *World) OpenJournal() {
	w.tb.Helper()
	o := w.JournalOptions
	if o.Clock == nil {
		o.Clock = w.Clock
	}
	var err error
	if w.Journal, err = posting.Open(o); err != nil {
		w.tb.Fatal(err)
	}
}

// Open opens the journal and makes a runtime. The caller then makes services on the runtime, and starts the runtime.
func (w *World) Open() {
	w.tb.Helper()
	w.OpenJournal()
	o := w.RuntimeOptions
	o.Journal = w.Journal
	if o.Clock == nil {
		o.Clock = w.Clock
	}
	w.Runtime = actors.New(o)
}

// Close stops the runtime and closes the journal, if they are open.
func (w *World) Close() {
	w.tb.Helper()
	if w.Runtime != nil {
		w.Runtime.Stop()
		w.Runtime = nil
	}
	if w.Journal != nil {
		if err := w.Journal.Close(); err != nil {
			w.tb.Error(err)
		}
		w.Journal = nil
	}
}

// Submit submits a change to the journal and waits for its receipt.
func (w *World) Submit(c *posting.Change) posting.Receipt {
	receipts := make(chan posting.Receipt, 1)
	w.Journal.Submit(c, func(r posting.Receipt) { receipts <- r })
	return <-receipts
}

// MustSubmit does the work of Submit, and fails the test unless the change becomes durable.
func (w *World) MustSubmit(c *posting.Change) posting.Receipt {
	w.tb.Helper()
	r := w.Submit(c)
	if r.Err != nil {
		w.tb.Fatal(r.Err)
	}
	return r
}
