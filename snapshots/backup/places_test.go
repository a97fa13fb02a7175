package backup_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/internal/testkit"
	"mizan/posting"
	"mizan/snapshots/backup"
	"mizan/snapshots/fixture"
)

// A backup that was streamed to a file may have any name. It is found even if only its directory is given.
func TestBackupMayHaveAnyFileName(t *testing.T) {
	dir, full, increment, keys := backUpChain(t)
	monday, tuesday := filepath.Join(dir, "monday"), filepath.Join(dir, "tuesday.bak")
	fixture.Must(t, os.Rename(full.Path, monday))
	fixture.Must(t, os.Rename(increment.Path, tuesday))
	fixture.Must(t, os.WriteFile(filepath.Join(dir, "notes"), []byte("mizan"), 0o600))
	fixture.Must(t, os.Mkdir(filepath.Join(dir, "old"+backup.Suffix), 0o700))
	for _, from := range []string{tuesday, dir} {
		result, err := backup.Verify(t.Context(), from, time.Time{}, keys)
		if err != nil || result.UsedBackups != 2 || result.Header.ID != increment.Header.ID {
			t.Errorf("%s is %+v, %v", from, result, err)
		}
	}
	header, err := backup.ReadBase(t.Context(), dir, nil)
	if err != nil || header.ID != increment.Header.ID {
		t.Errorf("the newest is %+v, %v", header, err)
	}
}

// Prune removes only files whose names end with Suffix. A backup with another name stays, because a person has chosen
// that name.
func TestPruneKeepsBackupsWithOtherNames(t *testing.T) {
	server := fixture.Start(t, fixture.Copy(t))
	backups, dir := backupService(server), t.TempDir()
	renamedPath := filepath.Join(dir, "before the migration")
	firstBackup, err := backups.Save(dir)
	fixture.Must(t, err)
	fixture.Must(t, os.Rename(firstBackup.Path, renamedPath))
	server.Advance(time.Second)
	lastBackup, err := backups.Save(dir)
	fixture.Must(t, err)
	if lastBackup.Header.Since != nil {
		t.Errorf("a backup rests on one that has been put away: %+v", lastBackup.Header)
	}
	_, err = backups.Prune(dir, 1)
	fixture.Must(t, err)
	backups.Close()
	server.Close()
	if _, err := os.Stat(renamedPath); err != nil {
		t.Errorf("the backup with a name of its own: %v", err)
	}
	if _, err := backup.Verify(t.Context(), lastBackup.Path, time.Time{}, fixture.Keyring(t, server.Dir)); err != nil {
		t.Errorf("the last one: %v", err)
	}
}

// A backup of an empty store may be in one directory with the backups of any other store. If a directory has backups
// of two stores that are not empty, a restore from the directory is refused.
func TestDirectoryWithBackupsOfSeveralStoresIsRefused(t *testing.T) {
	firstDir, _, _, keys := backUpChainOf(t, fixture.Buffered)
	secondDir, _, _, _ := backUpChainOf(t, fixture.Paged)
	emptyStore := t.TempDir()
	j, err := posting.Open(posting.Options{Store: fixture.Options(emptyStore), Clock: fixedClock{}, Log: fixture.NoLog})
	fixture.Must(t, err)
	backups := backup.New(backup.Options{Journal: j, Keyring: keys, Clock: earlierClock{}, Data: emptyStore, Log: fixture.NoLog})
	dir := t.TempDir()
	saved, err := backups.Save(dir)
	fixture.Must(t, err)
	backups.Close()
	fixture.Must(t, j.Close())
	if saved.Header.Group != 0 || saved.Header.Store != "" {
		t.Fatalf("a backup of nothing is %+v", saved.Header)
	}
	for _, from := range []string{firstDir, secondDir} {
		files, err := os.ReadDir(from)
		fixture.Must(t, err)
		for _, f := range files {
			fixture.Must(t, os.Link(filepath.Join(from, f.Name()), filepath.Join(dir, f.Name())))
		}
		if from == secondDir {
			break
		}
		if result, err := backup.Verify(t.Context(), dir, time.Time{}, keys); err != nil || result.UsedBackups != 2 {
			t.Errorf("a store and what was before it: %+v, %v", result, err)
		}
	}
	wantRefused(t, dir, keys, "backups of several stores")
	emptyStore, _ = restoreTo(t, saved.Path, "", keys)
	if digestOf(t, emptyStore) == [32]byte{} {
		t.Error("a store without groups is restored as nothing")
	}
}

// earlierClock shows a time before the first event of all stores of the fixture.
type earlierClock struct{}

// Now implements clock.Clock.
func (earlierClock) Now() time.Time { return fixture.StartTime.Add(-time.Hour) }

// A process that removes unfinished files while a backup begins never removes the file of that backup.
func TestRemoveUnfinishedLeavesFilesBeingWritten(t *testing.T) {
	dir := t.TempDir()
	stop, result := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				result <- nil
				return
			default:
			}
			if err := backup.RemoveUnfinished(dir); err != nil {
				result <- err
				return
			}
		}
	}()
	for range 2_000 {
		f, err := backup.CreateFile(dir)
		fixture.Must(t, err)
		_, err = os.Stat(f.Name())
		fixture.Must(t, err)
		fixture.Must(t, f.Close())
	}
	close(stop)
	fixture.Must(t, <-result)
}

// fileReplacer is a log handler. At the second message about an unreadable backup it replaces the file at
// path by a directory that is not empty, so that os.Remove fails there.
type fileReplacer struct {
	slog.Handler
	path         string
	messageCount int // number of messages about unreadable backups
}

// Handle implements slog.Handler.
func (r *fileReplacer) Handle(_ context.Context, record slog.Record) error {
	if record.Message != "a backup can't be read" {
		return nil
	}
	if r.messageCount++; r.messageCount != 2 {
		return nil
	}
	return errors.Join(os.Remove(r.path), os.MkdirAll(filepath.Join(r.path, "something"), 0o700))
}

// Enabled implements slog.Handler.
func (r *fileReplacer) Enabled(context.Context, slog.Level) bool { return true }

// If an old backup can't be removed, the next backup is still taken on schedule. If it were taken immediately,
// backups would fill the disk.
func TestFailureToRemoveAnOldBackupDoesNotChangeTheSchedule(t *testing.T) {
	source := fixture.Copy(t)
	server := fixture.Start(t, source)
	dir := t.TempDir()
	fullBackup, oldBackup := saveBackup(server, dir), saveBackup(server, dir)
	fixture.Must(t, os.Remove(fullBackup.Path)) // oldBackup is useless without fullBackup, so Prune removes oldBackup
	fixture.Must(t, os.WriteFile(filepath.Join(dir, "spoiled"+backup.Suffix), []byte("no backup"), 0o600))
	log := &fileReplacer{path: oldBackup.Path}
	server.Advance(time.Second)
	backups := backup.New(backup.Options{
		Journal: server.Journal, Keyring: fixture.Keyring(t, server.Dir), Clock: server.Clock, Data: server.Dir, Log: slog.New(log),
	})
	saved, err := backups.SaveAndPrune(dir, 1)
	if err != nil || saved.Header.Since != nil {
		t.Errorf("the backup: %+v, %v", saved, err)
	}
	if _, err := os.Stat(filepath.Join(oldBackup.Path, "something")); err != nil {
		t.Errorf("a file that must stay was removed: %v", err)
	}
	backups.Close()
	server.Close()
}

// logRecorder is a log handler that stores messages until the capacity of the slice messages is reached.
type logRecorder struct {
	slog.Handler
	messages []string
	full     chan struct{} // closed when the capacity is reached
}

// Enabled implements slog.Handler.
func (l *logRecorder) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler.
func (l *logRecorder) WithAttrs([]slog.Attr) slog.Handler { return l }

// Handle implements slog.Handler.
func (l *logRecorder) Handle(_ context.Context, record slog.Record) error {
	if len(l.messages) == cap(l.messages) {
		return nil
	}
	if l.messages = append(l.messages, record.Message); len(l.messages) == cap(l.messages) {
		close(l.full)
	}
	return nil
}

// A schedule takes one backup after the other and removes the old ones, even if the clock stands still. Each
// backup is based on the previous one, until the schedule takes the next full backup.
func TestScheduleTakesAndPrunesBackups(t *testing.T) {
	source := fixture.Copy(t)
	server := fixture.Start(t, source)
	var want []string
	for range 24 {
		want = append(want, "a backup was taken and verified")
	}
	for range 24 {
		want = append(want, "a backup was removed")
	}
	want = append(want, "a backup was taken and verified")
	log := &logRecorder{messages: make([]string, 0, len(want)), full: make(chan struct{})}
	backups := backup.New(backup.Options{
		Journal: server.Journal, Keyring: fixture.Keyring(t, server.Dir), Clock: server.Clock, Data: server.Dir, Log: slog.New(log),
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // so that the test ends if the schedule hangs
	dir, ended := t.TempDir(), make(chan struct{})
	go func() {
		backups.Schedule(ctx, dir, time.Millisecond, 1)
		close(ended)
	}()
	select {
	case <-log.full:
	case <-ctx.Done():
	}
	cancel()
	backups.Close()
	<-ended
	server.Close()
	if !slices.Equal(log.messages, want) {
		t.Errorf("the schedule logged %q, want %q", log.messages, want)
	}
	if f := backups.Figures(); f.Succeeded < 25 || f.Failed != 0 || f.LastBytes == 0 || f.LastTook == 0 || time.Since(f.LastSuccess) > 10*time.Minute {
		t.Errorf("the figures are %+v", f)
	}
	if _, err := backup.Verify(t.Context(), dir, time.Time{}, fixture.Keyring(t, source.Dir)); err != nil {
		t.Errorf("what is left: %v", err)
	}
}

// The age of the newest backup is known from the start on, and a schedule that fails is counted. A backup that a client has
// requested counts too, whether or not the client reads all of it.
func TestFiguresKnowEarlierBackupsAndFailures(t *testing.T) {
	source := fixture.Copy(t)
	server := fixture.Start(t, source)
	dir := t.TempDir()
	earlier := saveBackup(server, dir)
	made := time.Now().Add(-59 * time.Minute).Truncate(time.Second)
	fixture.Must(t, os.Chtimes(earlier.Path, made, made))
	log := &logRecorder{messages: make([]string, 0, 1), full: make(chan struct{})}
	backups := backup.New(backup.Options{
		Journal: server.Journal, Keyring: fixture.Keyring(t, server.Dir), Clock: server.Clock, Data: server.Dir, Log: slog.New(log),
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		backups.Schedule(ctx, dir, time.Hour, 1)
		close(ended)
	}()
	testkit.WaitUntil(t, "the schedule has seen the earlier backup", func() bool { return backups.Figures().LastSuccess.Equal(made) })
	cancel()
	<-ended

	ctx, cancel = context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	go backups.Schedule(ctx, filepath.Join(dir, "missing"), time.Hour, 1)
	select {
	case <-log.full:
	case <-ctx.Done():
	}
	testkit.WaitUntil(t, "the failure is counted", func() bool { return backups.Figures().Failed == 1 })

	for _, isComplete := range []bool{true, false} {
		stream, err := backups.Stream(nil)
		fixture.Must(t, err)
		if isComplete {
			_, err = io.Copy(io.Discard, stream)
			fixture.Must(t, err)
		}
		_ = stream.Close() // the client reads no further
	}
	backups.Close()
	server.Close()
	if f := backups.Figures(); f.StreamsEnded != 1 || f.StreamsCutShort != 1 || f.Succeeded != 0 {
		t.Errorf("the figures are %+v", f)
	}
}

// If the path to restore to is a link, the restore creates the store in the directory to which the link leads. A
// restore removes nothing that it has not created.
func TestRestoreFollowsALinkAndKeepsIt(t *testing.T) {
	from, _, _, keys := backUpChain(t)
	parent := t.TempDir()
	disk, data := filepath.Join(parent, "disk"), filepath.Join(parent, "data")
	fixture.Must(t, os.MkdirAll(filepath.Join(disk, "mizan"), 0o700))
	fixture.Must(t, os.Symlink(filepath.Join(disk, "mizan"), data))
	cfg := backup.RestoreConfig{From: from, Data: data, Keyring: keys, Log: fixture.NoLog}
	_, err := backup.Restore(t.Context(), cfg)
	fixture.Must(t, err)
	if _, err := os.Stat(filepath.Join(disk, "mizan", "store")); err != nil {
		t.Errorf("the target of the link has no store: %v", err)
	}

	foreignDir := filepath.Join(parent, "precious")
	fixture.Must(t, os.MkdirAll(filepath.Join(foreignDir, "something"), 0o700))
	cfg.Data = filepath.Join(parent, "other")
	fixture.Must(t, os.Symlink(foreignDir, cfg.Data+backup.RestoringSuffix))
	if _, err := backup.Restore(t.Context(), cfg); err == nil {
		t.Error("a restore worked in the target of a link")
	}
	if _, err := os.Stat(filepath.Join(foreignDir, "something")); err != nil {
		t.Errorf("the target of a link was cleared: %v", err)
	}
}

// A restore into a mount point is refused before anything is done.
func TestRestoreIntoAMountPointIsRefused(t *testing.T) {
	from, _, _, keys := backUpChain(t)
	_, err := backup.Restore(t.Context(), backup.RestoreConfig{From: from, Data: "/proc", Keyring: keys, Log: fixture.NoLog})
	if !errors.Is(err, backup.ErrMountPoint) || !strings.HasPrefix(err.Error(), "/proc ") {
		t.Errorf("a restore over a mounted disk: %v", err)
	}
}

// A backup contains some files of the data directory that are not part of the store. They are restored as they were
// when the last backup of the chain began.
func TestFilesBesideTheStoreAreRestored(t *testing.T) {
	source := fixture.Copy(t)
	server := fixture.Start(t, source)
	clockPath, keys := filepath.Join(source.Dir, "clock"), fixture.Keyring(t, source.Dir)
	fixture.Must(t, os.WriteFile(clockPath, []byte("one"), 0o600))
	dir := t.TempDir()
	full := saveBackup(server, dir)
	fixture.Must(t, os.WriteFile(clockPath, []byte("another"), 0o600))
	base := full.Header.Base()
	b, err := backupService(server).Begin(&base)
	fixture.Must(t, err)
	f, err := os.OpenFile(clockPath, os.O_APPEND|os.O_WRONLY, 0)
	fixture.Must(t, err)
	_, err = f.WriteString(", and more")
	fixture.Must(t, errors.Join(err, f.Close()))
	increment := filepath.Join(dir, "increment"+backup.Suffix)
	out, err := os.Create(increment)
	fixture.Must(t, err)
	_, err = b.WriteTo(out)
	fixture.Must(t, errors.Join(err, out.Close()))
	b.Close()
	server.Close()
	for from, want := range map[string]string{full.Path: "one", increment: "another"} {
		data, _ := restoreTo(t, from, "", keys)
		if got, err := os.ReadFile(filepath.Join(data, "clock")); err != nil || string(got) != want {
			t.Errorf("%s: the clock is %q, %v, want %q", filepath.Base(from), got, err, want)
		}
	}
}

// A stream of a backup has an estimate of its length, so that a client can show how much is left.
func TestStreamTellsAboutHowLongItIs(t *testing.T) {
	server := fixture.Start(t, fixture.Copy(t))
	defer server.Close()
	backups := backupService(server)
	defer backups.Close()
	streamed := func(base *backup.Base) (estimated, length int64) {
		t.Helper()
		stream, err := backups.Stream(base)
		fixture.Must(t, err)
		estimated = stream.(interface{ EstimatedBytes() int64 }).EstimatedBytes()
		length, err = io.Copy(io.Discard, stream)
		fixture.Must(t, err)
		fixture.Must(t, stream.Close())
		return estimated, length
	}
	if estimated, length := streamed(nil); float64(estimated) < 0.5*float64(length) || float64(estimated) > 2*float64(length) {
		t.Errorf("a full backup: %d bytes are estimated, and it has %d", estimated, length)
	}
	n, hash := server.Journal.LastGroup()
	full, _ := streamed(nil)
	if got, _ := streamed(&backup.Base{ID: "3d560634-e283-41f4-8987-8974726a90a5", Group: n, GroupHash: hexOf(hash[:]), Depth: 1}); got >= full/2 {
		t.Errorf("an increment without a new group: %d bytes are estimated, and %d for a full backup", got, full)
	}
}
