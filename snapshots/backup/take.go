package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"
	limiting "golang.org/x/time/rate"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/calls"
)

// filesBesideStore are the files of the data directory that are not part of the store, but that a restored
// sandbox needs and that can't be created again. Their copies may be newer than the last group in the backup. Newer
// copies are harmless: the simulator's log only grows, the saved clock may be ahead of the store, and what the
// file calls.RemoteName says never changes.
var filesBesideStore = []string{"clock", calls.LogName, calls.RemoteName}

// maxDuration bounds the duration of a backup. Until the backup ends, compaction can't drop the versions of rows that
// the backup shows.
const maxDuration = 6 * time.Hour

// Backup is a backup that is being taken. It shows the store as it was after one group (the changes that became
// durable with one sync); later writes do not change it. The caller must call Close.
type Backup struct {
	service    *Service
	ctx        context.Context
	cancel     context.CancelCauseFunc
	view       *posting.View
	header     Header
	sinceGroup uint64 // the last group of the base; 0: the backup is full
	files      []fileToBackUp
	isClosed   bool
}

// fileToBackUp is an open file beside the store.
type fileToBackUp struct {
	f    *os.File
	name string
	size int64 // the file's length when the backup began; later bytes are not backed up
}

// begin opens a view of the store, and then the files beside the store. Because the files are opened after the view,
// the simulator's log contains every call to which a row of the view refers, and the saved clock is not behind the
// clock's time when the last row of the view was written.
func (s *Service) begin(base *Base) (*Backup, error) {
	b := &Backup{service: s, view: s.options.Journal.StoredView()}
	b.ctx, b.cancel = context.WithCancelCause(s.ctx)
	if err := b.fillHeader(base); err != nil {
		b.Close()
		return nil, err
	}
	for _, name := range filesBesideStore {
		f, err := os.Open(filepath.Join(s.options.Data, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			b.Close()
			return nil, err
		}
		b.files = append(b.files, fileToBackUp{f: f, name: name})
		info, err := f.Stat()
		if err != nil {
			b.Close()
			return nil, err
		}
		size := info.Size()
		if name == calls.LogName {
			if size, err = calls.WrittenLength(f, size); err != nil {
				b.Close()
				return nil, err
			}
		}
		b.files[len(b.files)-1].size = size
	}
	return b, nil
}

// fillHeader sets the header. It refuses a base that is not a backup of an earlier state of this store.
func (b *Backup) fillHeader(requestedBase *Base) error {
	n, hash, err := b.view.LastGroup()
	if err != nil {
		return err
	}
	b.header = Header{
		Version: backupVersion, ID: uuid.NewString(), TakenAt: b.service.options.Clock.Now().UTC().Truncate(time.Microsecond),
		Group: n, GroupHash: hex.EncodeToString(hash[:]), Shard: b.service.options.Shard,
	}
	if firstHash, found, err := b.view.GroupHash(1); err != nil {
		return err
	} else if found {
		b.header.Store = hex.EncodeToString(firstHash[:])
	}
	if requestedBase == nil || requestedBase.Group == 0 {
		return nil
	}
	const op = "backup.Begin"
	base := *requestedBase
	baseHash, found, err := b.view.GroupHash(base.Group)
	switch {
	case err != nil:
		return err
	case !found || base.Group > n || hex.EncodeToString(baseHash[:]) != base.GroupHash:
		return ledger.RefuseField(op, "since", "that backup is of another store, or of a later state than this one")
	case base.Depth < 1 || base.Depth >= maxChain:
		return ledger.RefuseField(op, "since", "that backup already rests on as many as it may: take a full one")
	}
	if _, err := uuid.Parse(base.ID); err != nil || len(base.ID) != len(b.header.ID) {
		return ledger.RefuseField(op, "since", "id is not a UUID")
	}
	b.header.Since, b.sinceGroup = &base, base.Group
	return nil
}

// Close ends the backup, even if WriteTo has not written all of it.
func (b *Backup) Close() {
	if b.isClosed {
		return
	}
	b.isClosed = true
	b.cancel(nil)
	b.view.Close()
	for _, file := range b.files {
		_ = file.f.Close() // an error does not matter: the file was only read
	}
	b.service.release()
}

// WriteTo writes the backup. After an error the output is not a usable backup.
func (b *Backup) WriteTo(out io.Writer) (int64, error) {
	ctx, cancel := context.WithTimeoutCause(b.ctx, maxDuration, fmt.Errorf("the backup took more than %v", maxDuration))
	defer cancel()
	w := &writer{ctx: ctx, out: &countingWriter{out: out}, service: b.service, sum: newChecksum()}
	w.manifest = Manifest{Header: b.header, Schema: store.Schema}
	err := w.writeAll(b)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return w.out.n, err
}

// writer writes the frames of a backup (see format.go).
type writer struct {
	ctx      context.Context
	out      *countingWriter
	service  *Service
	sum      checksum
	manifest Manifest
	frame    []byte // buffer for the frame that is being written
}

func (w *writer) writeAll(b *Backup) error {
	if _, err := io.WriteString(w.out, backupMagic); err != nil {
		return err
	}
	header, err := encodeJSON(&w.manifest.Header)
	if err != nil {
		return err
	}
	w.sum.addFrame(frameHeader, header)
	if err := w.writeFrame(frameHeader, header); err != nil {
		return err
	}
	if err := w.writeRows(b); err != nil {
		return err
	}
	for _, f := range b.files {
		if err := w.writeFile(f); err != nil {
			return err
		}
	}
	if w.manifest.Heads, err = headsOf(b.view); err != nil {
		return err
	}
	if w.manifest.Placements, err = placementsOf(b.view); err != nil {
		return err
	}
	return w.writeEnd()
}

// writeRows writes the parts that contain the rows. No iterator is open between two parts, so that Badger can delete
// the tables that it has replaced.
func (w *writer) writeRows(b *Backup) error {
	var part, lastKey, startKey []byte
	for hasMore := true; hasMore; {
		part, lastKey, hasMore = part[:0], lastKey[:0], false
		err := b.view.StoredRows(startKey, b.sinceGroup, func(r posting.StoredRow) (bool, error) {
			part = appendRow(part, lastKey, &r)
			lastKey = append(lastKey[:0], r.Key...)
			w.manifest.Rows++
			w.manifest.Bytes += uint64(len(r.Key) + len(r.Stored))
			hasMore = len(part) >= partBytes
			return !hasMore, nil
		})
		if err != nil {
			return err
		}
		if err := w.writePart("", part); err != nil {
			return err
		}
		startKey = append(append(startKey[:0], lastKey...), 0)
	}
	return nil
}

// writeFile writes a file as parts, up to the length that the file had when the backup began.
func (w *writer) writeFile(f fileToBackUp) error {
	piece := make([]byte, partBytes)
	for offset := int64(0); ; offset += partBytes {
		n := min(f.size-offset, partBytes)
		if n <= 0 && offset > 0 {
			return nil
		}
		if _, err := f.f.ReadAt(piece[:n], offset); err != nil {
			return fmt.Errorf("%s: %w", f.name, eofAsTruncated(err))
		}
		if err := w.writePart(f.name, piece[:n]); err != nil {
			return err
		}
	}
}

// writePart seals a part and writes it.
func (w *writer) writePart(file string, plaintext []byte) error {
	if w.service.options.Journal.LowSpace() {
		return errors.New(lowDiskReason)
	}
	sealed, err := w.service.options.Keyring.Seal(plaintext, partContext(w.manifest.Header.ID, len(w.manifest.Parts), file))
	if err != nil {
		return err
	}
	hash := sha256.Sum256(sealed)
	w.sum.Write(hash[:])
	w.manifest.Parts = append(w.manifest.Parts, Part{Size: len(sealed), SHA256: hash[:], File: file})
	return w.writeFrame(framePart, sealed)
}

// writeEnd writes the manifest and the end frame.
func (w *writer) writeEnd() error {
	plaintext, err := encodeJSON(&w.manifest)
	if err != nil {
		return err
	}
	sealed, err := w.service.options.Keyring.Seal(plaintext, manifestContext(w.manifest.Header.ID))
	if err != nil {
		return err
	}
	w.sum.addFrame(frameManifest, sealed)
	if err := w.writeFrame(frameManifest, sealed); err != nil {
		return err
	}
	end := appendFrameHead(nil, 0, len(sealed))[1:]
	return w.writeFrame(frameEnd, w.sum.Sum(end))
}

// pieceBytes is the number of bytes that are written at a time. It is small, so that a slow backup
// advances steadily: readers give up on a stream that stands still.
const pieceBytes = 64 << 10

// writeFrame writes a frame, no faster than Options.Rate allows.
func (w *writer) writeFrame(kind byte, body []byte) error {
	w.frame = append(appendFrameHead(w.frame[:0], kind, len(body)), body...)
	for piece := range slices.Chunk(w.frame, pieceBytes) {
		if err := pause(w.ctx, w.service.limiter, len(piece)); err != nil {
			return err
		}
		if _, err := w.out.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// pause waits until the limiter allows n more bytes. If the limiter is nil, pause returns at once.
func pause(ctx context.Context, limiter *limiting.Limiter, n int) error {
	if limiter == nil {
		return ctx.Err()
	}
	for n > 0 {
		step := min(n, limiter.Burst())
		if err := limiter.WaitN(ctx, step); err != nil {
			return err
		}
		n -= step
	}
	return nil
}

// headsOf returns the journal head (size and root hash) of each organization that has events.
func headsOf(v *posting.View) (heads []Head, err error) {
	err = v.OrganizationsWith(posting.Blocks, func(org ledger.ID) (bool, error) {
		size, root, err := v.Head(org)
		heads = append(heads, Head{Organization: org.String(), Size: size, Root: root[:]})
		return true, err
	})
	return heads, err
}

// countingWriter writes to out and counts the bytes.
type countingWriter struct {
	out io.Writer
	n   int64
}

// Write implements io.Writer.
func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	w.n += int64(n)
	return n, err
}
