package backup_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/posting/store"
	"mizan/snapshots/backup"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// backupService returns a backup service for a running server.
func backupService(server *fixture.Server) *backup.Service {
	b := backup.New(backup.Options{Journal: server.Journal, Keyring: fixture.Keyring(server.T, server.Dir), Clock: server.Clock, Data: server.Dir, Log: fixture.NoLog})
	server.T.Cleanup(b.Close)
	return b
}

// saveBackup takes a backup of the server's store and saves it in the directory.
func saveBackup(server *fixture.Server, dir string) backup.FoundBackup {
	server.T.Helper()
	b := backupService(server)
	saved, err := b.Save(dir)
	fixture.Must(server.T, err)
	b.Close()
	return saved
}

// digestOf returns the digest that the checker computes of a closed store. The test fails if the checker finds a
// fault.
func digestOf(t testing.TB, dir string) [32]byte {
	t.Helper()
	j := fixture.OpenJournal(t, &fixture.Store{Dir: dir}, fixedClock{}, nil)
	defer func() { fixture.Must(t, j.Close()) }()
	report, err := check.Check(context.Background(), j, check.Inputs{Data: dir, Log: fixture.NoLog})
	fixture.Must(t, err)
	if report.Broken() {
		var text bytes.Buffer
		_, _ = report.WriteTo(&text)
		t.Fatalf("the store is broken:\n%s", text.String())
	}
	return report.Digest
}

// fixedClock always shows the same time.
type fixedClock struct{}

func (fixedClock) Now() time.Time { return fixture.StartTime }

// restoreTo restores a backup and returns the new data directory. If from is a directory of backups, the newest
// backup that is not later than the time at is restored; if at is empty, the newest of all.
func restoreTo(t testing.TB, from, at string, keys backup.Sealer) (dir string, restored *backup.RestoreResult) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "restored")
	var instant time.Time
	if at != "" {
		var err error
		instant, err = time.Parse(time.RFC3339Nano, at)
		fixture.Must(t, err)
	}
	restored, err := backup.Restore(t.Context(), backup.RestoreConfig{From: from, At: instant, Data: dir, Keyring: keys, Log: fixture.NoLog})
	fixture.Must(t, err)
	return dir, restored
}

// A backup of a running server contains the store as it was when the backup began. A restore creates
// an equal store.
func TestRestoredStoreEqualsTheBackedUpStore(t *testing.T) {
	fixture.EachLayout(t, func(t *testing.T, copyStore func(testing.TB) *fixture.Store) {
		source := copyStore(t)
		server := fixture.Start(t, source)
		backups := t.TempDir()
		saved := saveBackup(server, backups)
		lastGroup, _ := server.Journal.LastGroup()
		if saved.Header.Group != lastGroup || saved.Header.Kind() != "full" {
			t.Errorf("the backup is %s, of group %d, and the store has %d", saved.Header.Kind(), saved.Header.Group, lastGroup)
		}
		server.Close()
		dir, result := restoreTo(t, saved.Path, "", fixture.Keyring(t, source.Dir))
		if result.UsedBackups != 1 || result.Header.ID != saved.Header.ID {
			t.Errorf("restored %+v", result)
		}
		if digestOf(t, dir) != digestOf(t, source.Dir) {
			t.Error("the restored store has another digest")
		}
	})
}

// An increment adds rows to those of its base, and also removes some: sealed cards, timers, page buffers and
// key-value rows. A restore of any backup in a chain gives the state in which that backup was taken.
func TestEachBackupOfAChainRestoresItsOwnState(t *testing.T) {
	source := fixture.Copy(t)
	server := fixture.Start(t, source)
	backups := t.TempDir()
	var saved []backup.FoundBackup
	var digests [][32]byte
	for i := range 4 {
		switch i {
		case 1:
			server.Create(source.FirstDemo, payment.Payment, "4000000000000077", 900, "chain-1") // the payment's card is stored sealed (encrypted) while the payment waits for the provider
			server.Create(source.FirstDemo, payment.Payment, "4000002500003155", 700, "chain-2") // the card of this payment is stored sealed too
		case 2:
			server.Advance(time.Minute)
		case 3:
			server.Advance(time.Hour)
			for range 40 {
				server.Create(source.FirstDemo, payment.Payment, "4242424242424242", 1_000, "")
			}
		}
		server.Advance(time.Second)
		saved = append(saved, saveBackup(server, backups))
		server.Close()
		digests = append(digests, digestOf(t, source.Dir))
		server = openAt(t, source, saved[i].Header.TakenAt)
	}
	server.Close()
	for i, listed := range saved {
		if want := map[bool]string{true: "full", false: "incremental"}[i == 0]; listed.Header.Kind() != want {
			t.Errorf("backup %d is %s", i, listed.Header.Kind())
		}
		dir, result := restoreTo(t, backups, listed.Header.TakenAt.Format(time.RFC3339Nano), fixture.Keyring(t, source.Dir))
		if result.UsedBackups != i+1 || result.Header.Group != listed.Header.Group {
			t.Errorf("backup %d: %d were used, to group %d", i, result.UsedBackups, result.Header.Group)
		}
		if digestOf(t, dir) != digests[i] {
			t.Errorf("backup %d: the restored store has another digest", i)
		}
	}
}

// openAt starts a server on the store, and advances its clock to the instant at.
func openAt(t testing.TB, source *fixture.Store, at time.Time) *fixture.Server {
	t.Helper()
	server := fixture.Start(t, source)
	if at.After(server.Clock.Now()) {
		fixture.Must(t, server.Runtime.Advance(at))
	}
	return server
}

// A server that is started on a restored store continues the store's journal. Its next increment is based
// on the backup that was restored.
func TestServerContinuesOnARestoredStore(t *testing.T) {
	source := fixture.Copy(t)
	server := fixture.Start(t, source)
	backups := t.TempDir()
	saved := saveBackup(server, backups)
	server.Close()
	dir, _ := restoreTo(t, backups, "", fixture.Keyring(t, source.Dir))
	fixture.Must(t, os.Link(filepath.Join(source.Dir, "keyring"), filepath.Join(dir, "keyring")))
	restored := *source
	restored.Dir = dir
	server = openAt(t, &restored, saved.Header.TakenAt)
	paid := server.Create(source.FirstDemo, payment.Payment, "4242424242424242", 4_200, "after the restore")
	if paid.Status != payment.Charged {
		t.Errorf("a payment after the restore is %v", paid.Status)
	}
	next := saveBackup(server, backups)
	if next.Header.Since == nil || next.Header.Since.ID != saved.Header.ID || next.Header.Group <= saved.Header.Group {
		t.Errorf("the next backup is %+v", next.Header)
	}
	server.Close()
	want := digestOf(t, dir)
	secondDir, _ := restoreTo(t, next.Path, "", fixture.Keyring(t, source.Dir))
	if digestOf(t, secondDir) != want {
		t.Error("the store of the second restore has another digest")
	}
}

// A backup contains the state at one moment, even if payments are made while it is taken.
func TestBackupIsConsistentWhilePaymentsAreMade(t *testing.T) {
	source := fixture.Copy(t)
	server := fixture.Start(t, source)
	b, err := backupService(server).Begin(nil)
	fixture.Must(t, err)
	for range 200 {
		server.Create(source.FirstDemo, payment.Payment, "4242424242424242", 1_000, "")
	}
	server.Advance(time.Minute)
	path := filepath.Join(t.TempDir(), "one"+backup.Suffix)
	f, err := os.Create(path)
	fixture.Must(t, err)
	_, err = b.WriteTo(f)
	fixture.Must(t, errors.Join(err, f.Close()))
	b.Close()
	server.Close()
	dir, _ := restoreTo(t, path, "", fixture.Keyring(t, source.Dir))
	if got, want := digestOf(t, dir), digestOf(t, fixture.Copy(t).Dir); got != want {
		t.Error("the backup contains changes that were made after it began")
	}
}

func TestOnlyOneBackupRunsAtATime(t *testing.T) {
	server := fixture.Start(t, fixture.Copy(t))
	backups := backupService(server)
	b, err := backups.Begin(nil)
	fixture.Must(t, err)
	var refusal *ledger.Refusal
	if _, err := backups.Begin(nil); !errors.As(err, &refusal) || refusal.Code != ledger.Conflict {
		t.Errorf("a second backup: %v", err)
	}
	b.Close()
	b, err = backups.Begin(nil)
	fixture.Must(t, err)
	b.Close()
	backups.Close()
	if _, err := backups.Begin(nil); !errors.As(err, &refusal) || refusal.Code != ledger.Unavailable {
		t.Errorf("a backup of a server that stops: %v", err)
	}
	server.Close()
}

// If the reader of a stream closes the stream, or the service stops, the backup ends and releases the store.
func TestClosingAStreamEarlyEndsItsBackup(t *testing.T) {
	server := fixture.Start(t, fixture.Copy(t))
	backups := backupService(server)
	for _, end := range []func(io.Closer){func(c io.Closer) { fixture.Must(t, c.Close()) }, func(io.Closer) { backups.Stop() }} {
		stream, err := backups.Stream(nil)
		fixture.Must(t, err)
		_, err = io.ReadFull(stream, make([]byte, 100))
		fixture.Must(t, err)
		end(stream)
	}
	backups.Close() // waits for the streams to end
	server.Close()
}

// An increment requires a backup of an earlier state of the same store.
func TestIncrementNeedsAnEarlierBackupOfTheSameStore(t *testing.T) {
	server := fixture.Start(t, fixture.Copy(t))
	defer server.Close()
	backups := backupService(server)
	n, hash := server.Journal.LastGroup()
	soundBase := backup.Base{ID: "3d560634-e283-41f4-8987-8974726a90a5", Group: n, GroupHash: hexOf(hash[:]), Depth: 1}
	for name, spoilBase := range map[string]func(*backup.Base){
		"another hash":     func(b *backup.Base) { b.GroupHash = hexOf(make([]byte, 32)) },
		"a later group":    func(b *backup.Base) { b.Group++ },
		"an earlier group": func(b *backup.Base) { b.Group-- },
		"a chain too long": func(b *backup.Base) { b.Depth = 1_000 },
		"no depth":         func(b *backup.Base) { b.Depth = 0 },
		"an invalid id":    func(b *backup.Base) { b.ID = "{" + b.ID + "}" },
	} {
		base := soundBase
		spoilBase(&base)
		var refusal *ledger.Refusal
		b, err := backups.Begin(&base)
		if !errors.As(err, &refusal) || refusal.Field != "since" {
			t.Errorf("%s: %v, want a refusal of since", name, err)
		}
		if err == nil {
			b.Close()
		}
	}
	b, err := backups.Begin(&soundBase)
	fixture.Must(t, err)
	b.Close()
}

func hexOf(b []byte) string {
	const digits = "0123456789abcdef"
	var text strings.Builder
	for _, c := range b {
		text.WriteByte(digits[c>>4])
		text.WriteByte(digits[c&15])
	}
	return text.String()
}

// backUpChain returns a directory with a full backup and an increment, and the keys that open them.
func backUpChain(t testing.TB) (dir string, full, increment backup.FoundBackup, keys *secret.Keyring) {
	t.Helper()
	return backUpChainOf(t, fixture.Buffered)
}

// backUpChainOf does the same as backUpChain, with a store whose ledger lines have the given layout.
func backUpChainOf(t testing.TB, layout int) (dir string, full, increment backup.FoundBackup, keys *secret.Keyring) {
	t.Helper()
	source := fixture.CopyWithLayout(t, layout)
	server := fixture.Start(t, source)
	dir = t.TempDir()
	full = saveBackup(server, dir)
	server.Advance(time.Second)
	server.Create(source.FirstDemo, payment.Payment, "4242424242424242", 1_000, "increment")
	increment = saveBackup(server, dir)
	server.Close()
	return dir, full, increment, fixture.Keyring(t, source.Dir)
}

// wantRefused checks that a restore and a verification fail with an error that contains wantText, and that
// the restore leaves no files behind.
func wantRefused(t *testing.T, from string, keys backup.Sealer, wantText string) {
	t.Helper()
	parent := t.TempDir()
	_, err := backup.Restore(t.Context(), backup.RestoreConfig{From: from, Data: filepath.Join(parent, "data"), Keyring: keys, Log: fixture.NoLog})
	if err == nil || !strings.Contains(err.Error(), wantText) {
		t.Errorf("a restore says %v, want something with %q", err, wantText)
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) > 0 {
		t.Errorf("the restore left %v, %v", entries, err)
	}
	if _, err := backup.Verify(t.Context(), from, time.Time{}, keys); err == nil || !strings.Contains(err.Error(), wantText) {
		t.Errorf("a verification says %v, want something with %q", err, wantText)
	}
}

func TestBackupWithOtherKeysOrOfAnotherChainIsRefused(t *testing.T) {
	dir, full, increment, keys := backUpChain(t)
	otherKeys, err := secret.CreateKeyring(filepath.Join(t.TempDir(), "keyring"), rand.Reader)
	fixture.Must(t, err)
	wantRefused(t, full.Path, otherKeys, "made with another keyring")
	wantRefused(t, dir, otherKeys, "made with another keyring")

	otherDir, _, _, _ := backUpChainOf(t, fixture.Paged)
	foreignIncrement := filepath.Join(otherDir, filepath.Base(increment.Path))
	fixture.Must(t, os.Link(increment.Path, foreignIncrement))
	wantRefused(t, foreignIncrement, keys, "needs backup "+full.Header.ID)
	wantRefused(t, otherDir, keys, "backups of several stores")
	fixture.Must(t, os.Rename(full.Path, filepath.Join(t.TempDir(), "away")))
	wantRefused(t, increment.Path, keys, "which is not in the same directory")
	wantRefused(t, t.TempDir(), keys, "there is no backup in it")
}

func TestRestoreNeedsAnEmptyDirectory(t *testing.T) {
	dir, _, _, keys := backUpChain(t)
	target := filepath.Join(t.TempDir(), "data")
	fixture.Must(t, os.MkdirAll(filepath.Join(target, "something"), 0o700))
	cfg := backup.RestoreConfig{From: dir, Data: target, Keyring: keys, Log: fixture.NoLog}
	if _, err := backup.Restore(t.Context(), cfg); !errors.Is(err, backup.ErrNotEmpty) {
		t.Errorf("a restore over something: %v", err)
	}
	fixture.Must(t, os.Remove(filepath.Join(target, "something")))
	if _, err := backup.Restore(t.Context(), cfg); err != nil {
		t.Errorf("a restore into an empty directory: %v", err)
	}
	cfg.Data = filepath.Join(t.TempDir(), "none", "data")
	if _, err := backup.Restore(t.Context(), cfg); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a restore beside nothing: %v", err)
	}
}

// A restore removes what a killed restore has left, but not the directory of a restore that is still running.
func TestNextRestoreReplacesAnUnfinishedOne(t *testing.T) {
	dir, _, _, keys := backUpChain(t)
	target := filepath.Join(t.TempDir(), "data")
	fixture.Must(t, os.MkdirAll(filepath.Join(target+backup.RestoringSuffix, "store.new"), 0o700))
	fixture.Must(t, os.WriteFile(filepath.Join(target+backup.RestoringSuffix, store.UnfinishedName), nil, 0o600))
	cfg := backup.RestoreConfig{From: dir, Data: target, Keyring: keys, Log: fixture.NoLog}
	unlock := lockDir(t, target+backup.RestoringSuffix)
	if _, err := backup.Restore(t.Context(), cfg); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a restore beside another: %v", err)
	}
	unlock()
	_, err := backup.Restore(t.Context(), cfg)
	fixture.Must(t, err)
	if _, err := os.Stat(target + backup.RestoringSuffix); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the working directory of the restore is still there: %v", err)
	}
}

// A backup contains no text of the store in plaintext.
func TestBackupContainsNoPlaintext(t *testing.T) {
	_, full, increment, _ := backUpChain(t)
	for _, path := range []string{full.Path, increment.Path} {
		content, err := os.ReadFile(path)
		fixture.Must(t, err)
		// Each text is so long that it does not occur in the random bytes of a backup by chance.
		for _, text := range []string{"order-1", "simulator", "partner:", "shop.example", "42424242", "platform"} {
			if bytes.Contains(content, []byte(text)) {
				t.Errorf("a backup contains %q", text)
			}
		}
	}
}

func TestPruneKeepsTheBackupsThatIncrementsNeed(t *testing.T) {
	source := fixture.Copy(t)
	server := fixture.Start(t, source)
	backups := backupService(server)
	dir := t.TempDir()
	_, foreignBackup, _, _ := backUpChainOf(t, fixture.Paged)
	foreignPath := filepath.Join(dir, filepath.Base(foreignBackup.Path))
	fixture.Must(t, os.Link(foreignBackup.Path, foreignPath))
	spoiledPath := filepath.Join(dir, "spoiled"+backup.Suffix)
	fixture.Must(t, os.WriteFile(spoiledPath, []byte("no backup"), 0o600))
	var savedPaths []string
	takeBackup := func() {
		t.Helper()
		server.Advance(time.Second)
		listed, err := backups.Save(dir)
		fixture.Must(t, err)
		savedPaths = append(savedPaths, listed.Path)
	}
	for range 30 { // 24 backups of one chain, then 6 of the next chain
		takeBackup()
	}
	remainingIndexes := func() (indexes []int) {
		for i, path := range savedPaths {
			if _, err := os.Stat(path); err == nil {
				indexes = append(indexes, i)
			}
		}
		return indexes
	}
	for _, step := range []struct {
		keepCount   int
		wantIndexes []int // indexes in savedPaths of the backups that must remain
	}{
		{8, intRange(0, 30)}, // of the 8 newest backups, two are in the first chain and need all backups before them
		{6, intRange(24, 30)},
		{1, intRange(24, 30)},
	} {
		_, err := backups.Prune(dir, step.keepCount)
		fixture.Must(t, err)
		if got := remainingIndexes(); !slices.Equal(got, step.wantIndexes) {
			t.Errorf("keeping %d left %v, want %v", step.keepCount, got, step.wantIndexes)
		}
	}
	backups.Close()
	server.Close()
	for _, path := range []string{foreignPath, spoiledPath} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("a file that does not belong to this store was removed: %v", err)
		}
	}
	restoreTo(t, savedPaths[len(savedPaths)-1], "", fixture.Keyring(t, source.Dir))
}

// intRange returns the numbers from first to end-1.
func intRange(first, end int) (n []int) {
	for i := first; i < end; i++ {
		n = append(n, i)
	}
	return n
}

// A restore removes from the simulator's log exactly the calls that were made after the backup began.
func TestRestoreRemovesLaterCallsFromTheSimulatorLog(t *testing.T) {
	source, laterStore := fixture.Copy(t), fixture.Copy(t)
	logPath := func(source *fixture.Store) string { return filepath.Join(source.Dir, "simulator.log") }
	want, err := os.ReadFile(logPath(source))
	fixture.Must(t, err)
	server := fixture.Start(t, laterStore)
	server.Create(source.FirstDemo, payment.Payment, "4242424242424242", 1_000, "later")
	server.Create(source.SecondDemo, payment.Payment, "4000000000000002", 1_000, "later")
	server.Advance(time.Hour) // the server asks the provider about the payments that wait for it, and books them
	server.Close()
	laterLog, err := os.ReadFile(logPath(laterStore))
	fixture.Must(t, err)
	if !bytes.HasPrefix(laterLog, want) || len(laterLog) == len(want) {
		t.Fatal("the later log does not extend the earlier one")
	}
	fixture.Must(t, os.WriteFile(logPath(source), append(laterLog, `{"torn":`...), 0o600))
	j := fixture.OpenJournal(t, source, fixedClock{}, nil)
	backups := backup.New(backup.Options{Journal: j, Keyring: fixture.Keyring(t, source.Dir), Clock: fixedClock{}, Data: source.Dir, Log: fixture.NoLog})
	saved, err := backups.Save(t.TempDir())
	fixture.Must(t, err)
	backups.Close()
	fixture.Must(t, j.Close())
	dir, _ := restoreTo(t, saved.Path, "", fixture.Keyring(t, source.Dir))
	got, err := os.ReadFile(filepath.Join(dir, "simulator.log"))
	fixture.Must(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("the restored log has %d bytes, want %d as when the backup began", len(got), len(want))
	}
	digestOf(t, dir)
}

// A store whose simulator is a process of its own has no log. Its backup says so, and the restored store passes the check.
func TestBackupOfAStoreWithoutASimulatorLog(t *testing.T) {
	source := fixture.Copy(t)
	fixture.Must(t, os.Remove(filepath.Join(source.Dir, "simulator.log")))
	fixture.Must(t, os.WriteFile(filepath.Join(source.Dir, "simulator.url"), []byte("http://127.0.0.1:8444\n"), 0o600))
	j := fixture.OpenJournal(t, source, fixedClock{}, nil)
	backups := backup.New(backup.Options{Journal: j, Keyring: fixture.Keyring(t, source.Dir), Clock: fixedClock{}, Data: source.Dir, Log: fixture.NoLog})
	saved, err := backups.Save(t.TempDir())
	fixture.Must(t, err)
	backups.Close()
	fixture.Must(t, j.Close())
	dir, _ := restoreTo(t, saved.Path, "", fixture.Keyring(t, source.Dir))
	if got, err := os.ReadFile(filepath.Join(dir, "simulator.url")); err != nil || string(got) != "http://127.0.0.1:8444\n" {
		t.Errorf("the restored file is %q, %v", got, err)
	}
}
