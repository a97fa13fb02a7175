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

// worldMemTable is the size in bytes of a world's memtables (Badger's tables in memory). With smaller memtables, the store
// would refuse the longest values that a server accepts. Memtables as large as a server's would take longer to allocate and
// clear than most tests run.
const worldMemTable = 8 << 20

// World has everything that services need to run inside a test's process: a store in a directory of the test, a journal that
// uses the store, the actors' runtime, a keyring, and a clock that only the test moves. If a test closes the world and opens it
// again, stored data is still there.
type World struct {
	Dir     string // directory of the store; a test may also put other files into the directory
	Clock   *clock.Manual
	Keyring *secret.Keyring
	Journal *posting.Journal
	Runtime *actors.Runtime // nil unless the world was opened with Open

	// Options of the journal and of the runtime. A test may change the options before it calls Open. Open sets
	// RuntimeOptions.Journal to the journal that it has opened. If JournalOptions or RuntimeOptions have no Clock, Open uses
	// World.Clock.
	JournalOptions posting.Options
	RuntimeOptions actors.Options

	tb testing.TB
}

// NewWorld makes a world with an empty store and a clock that shows the given time. The caller must open the world. At the end
// of the test, the world is closed.
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

// setOptions sets the default options of the journal and of the runtime.
func (w *World) setOptions() {
	discardLog := slog.New(slog.DiscardHandler)
	w.JournalOptions = posting.Options{Store: store.Options{Dir: w.Dir, Log: discardLog, MemTable: worldMemTable}, Log: discardLog}
	w.RuntimeOptions = actors.Options{Log: discardLog, Sealer: w.Keyring}
}

// OpenJournal opens the journal, but makes no runtime, so no timer of an actor fires.
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

// Open opens the journal and makes a runtime. Then the caller must make services that use the runtime, and start the runtime.
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

// Close stops the runtime, if there is one, and closes the journal, if it is open.
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
	return w.Journal.SubmitAndWait(c)
}

// MustSubmit is like Submit, but fails the test if the change does not become durable.
func (w *World) MustSubmit(c *posting.Change) posting.Receipt {
	w.tb.Helper()
	r := w.Submit(c)
	if r.Err != nil {
		w.tb.Fatal(r.Err)
	}
	return r
}
