package backup

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"

	limiting "golang.org/x/time/rate"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/posting"
)

// Options configure a Service.
type Options struct {
	Journal *posting.Journal
	Keyring Sealer
	Clock   clock.Clock
	Data    string // the data directory; a backup contains some of its files too (see filesBesideStore)
	Rate    uint64 // the largest number of bytes written per second; 0: unlimited
	Shard   *Shard // the shard of a cluster; nil: the store of a single server
	Log     *slog.Logger
}

// Service takes backups of a running server, one at a time. Two backups at once would slow each other down, and the
// store could not reclaim space until both had ended.
type Service struct {
	options Options
	limiter *limiting.Limiter
	ctx     context.Context
	stop    context.CancelFunc

	mu     sync.Mutex
	idle   *sync.Cond // signals that isBusy has become false; uses mu
	isBusy bool       // a backup is under way; guarded by mu

	figures Figures // guarded by mu
}

// New returns a service that does nothing until one of its methods is called.
func New(o Options) *Service {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Service{options: o}
	s.idle = sync.NewCond(&s.mu)
	s.ctx, s.stop = context.WithCancel(context.Background())
	if o.Rate > 0 {
		s.limiter = limiting.NewLimiter(limiting.Limit(o.Rate), int(min(o.Rate, partBytes)))
	}
	return s
}

// lowDiskReason says why a backup is refused or stopped if less disk space is free than commands need.
const lowDiskReason = "the disk is nearly full, and the store can't reclaim space during a backup"

// Begin begins a backup of everything that is durable now. If base is nil, the backup is full; otherwise
// it is an increment to the base. Begin returns a *ledger.Refusal if another backup is under way (Conflict), if the
// server is stopping or its disk is nearly full (Unavailable), or if the base is not a backup of this store
// (InvalidField). It can also return an error of the store.
func (s *Service) Begin(base *Base) (*Backup, error) {
	const op = "backup.Begin"
	s.mu.Lock()
	isBusy, isStopped := s.isBusy, s.ctx.Err() != nil
	s.isBusy = true
	s.mu.Unlock()
	switch {
	case isBusy:
		return nil, ledger.Refuse(op, ledger.Conflict, "another backup is under way")
	case isStopped:
		s.release()
		return nil, ledger.Refuse(op, ledger.Unavailable, "the server is stopping")
	case s.options.Journal.LowSpace():
		s.release()
		return nil, ledger.Refuse(op, ledger.Unavailable, lowDiskReason)
	}
	return s.begin(base)
}

// release lets the next backup begin.
func (s *Service) release() {
	s.mu.Lock()
	s.isBusy = false
	s.mu.Unlock()
	s.idle.Broadcast()
}

// Stream begins a backup that the caller reads from the returned stream. Closing the stream early ends
// the backup; Close returns when the backup no longer reads the store.
func (s *Service) Stream(base *Base) (io.ReadCloser, error) {
	b, err := s.Begin(base)
	if err != nil {
		return nil, err
	}
	pipeReader, pipeWriter := io.Pipe()
	stopWatching := context.AfterFunc(b.ctx, func() { _ = pipeWriter.CloseWithError(context.Cause(b.ctx)) })
	st := &stream{PipeReader: pipeReader, backup: b, ended: make(chan struct{})}
	go func() {
		defer close(st.ended)
		_, err := b.WriteTo(pipeWriter)
		stopWatching()
		b.Close()
		s.countStream(err)
		if err != nil {
			s.options.Log.Warn("a backup was not finished", "id", b.header.ID, "error", err)
		}
		_ = pipeWriter.CloseWithError(err)
	}()
	return st, nil
}

// stream is the read end of the pipe to which a goroutine writes a backup.
type stream struct {
	*io.PipeReader
	backup *Backup
	ended  chan struct{} // closed when the backup no longer reads the store
}

// EstimatedBytes returns an estimate of the backup's size. A full backup contains the store's tables, the groups that are
// only in the write-ahead log so far, and the files beside the store. For an increment, the size of tables and groups is
// multiplied by the proportion of all groups that the increment contains.
func (st *stream) EstimatedBytes() int64 {
	journal, groups, since := st.backup.service.options.Journal, st.backup.header.Group, st.backup.sinceGroup
	figures := journal.StoreFigures()
	size := journal.Size() - figures.LogBytes + int64(figures.LagBytes)
	if since != 0 {
		size = int64(float64(size) * float64(groups-since) / float64(groups))
	}
	for i := range st.backup.files {
		size += st.backup.files[i].size
	}
	return size
}

// errClosed says that a backup was ended because its reader has closed the stream.
var errClosed = errors.New("its reader has closed the stream")

// Close implements io.Closer.
func (st *stream) Close() error {
	st.backup.cancel(errClosed)
	err := st.PipeReader.Close()
	<-st.ended
	return err
}

// Stop ends the backup that is under way, and prevents further backups.
func (s *Service) Stop() { s.stop() }

// Close calls Stop and then waits until no backup reads the store.
func (s *Service) Close() {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.isBusy {
		s.idle.Wait()
	}
}
