package backup

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"mizan/internal/progress"
	"mizan/internal/secret"
	"mizan/posting/store"
)

// archive is a backup's file, open for reading. The file is a sequence of frames, which format.go describes.
type archive struct {
	path           string
	f              *os.File
	size           int64
	modTime        time.Time
	header         Header
	manifest       *Manifest         // nil if the archive was opened without keys
	partsStart     int64             // offset of the first part
	manifestStart  int64             // offset of the frame with the manifest
	sealedManifest []byte            // the sealed manifest
	endHash        [sha256.Size]byte // hash in the end frame, the last frame of the file
	keyring        Sealer            // nil if the archive was opened without keys
}

// openArchive opens a backup and reads its header, its end frame and the sealed manifest. It needs no keys, because
// it does not decrypt the manifest. It returns an *Error or an error of the file system.
func openArchive(path string) (*archive, error) {
	a, err := openHeader(path)
	if err != nil {
		return nil, err
	}
	if err := a.readEnd(); err != nil {
		a.close()
		return nil, a.asBackupError(err)
	}
	return a, nil
}

// openHeader opens a backup and reads its header. It does not block if the path is a pipe.
func openHeader(path string) (*archive, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	a := &archive{path: path, f: f}
	for _, step := range []func() error{a.measure, a.readHeader} {
		if err := step(); err != nil {
			a.close()
			return nil, a.asBackupError(err)
		}
	}
	return a, nil
}

// openSealed opens a backup like openArchive, and also decrypts the manifest. Only the manifest is a reliable
// description of the backup's contents.
func openSealed(ctx context.Context, path string, keyring Sealer) (*archive, error) {
	a, err := openArchive(path)
	if err != nil {
		return nil, err
	}
	a.keyring = keyring
	if err := a.openManifest(ctx); err != nil {
		a.close()
		return nil, a.asBackupError(err)
	}
	return a, nil
}

// measure records the size and the modification time of the file.
func (a *archive) measure() error {
	info, err := a.f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &Error{Path: a.path, What: "it is not a file", Cause: ErrChoice}
	}
	a.size, a.modTime = info.Size(), info.ModTime()
	return nil
}

func (a *archive) close() { _ = a.f.Close() } // an error does not matter: the file was only read

// asBackupError wraps an error from reading the file in an *Error that says that the backup is damaged. It returns
// four kinds of errors unchanged: *fs.PathError, *Error, context.Canceled and secret.ErrNoSealingKey.
func (a *archive) asBackupError(err error) error {
	var pathErr *os.PathError
	var backupErr *Error
	if errors.As(err, &pathErr) || errors.As(err, &backupErr) || errors.Is(err, context.Canceled) || errors.Is(err, secret.ErrNoSealingKey) {
		return err
	}
	return damageError(a.path, "%v", err)
}

// readHeader reads the header and checks that this release supports the version of the backup's format.
func (a *archive) readHeader() error {
	magic := make([]byte, len(backupMagic))
	r := io.NewSectionReader(a.f, 0, a.size)
	if _, err := io.ReadFull(r, magic); err != nil {
		return eofAsTruncated(err)
	}
	if string(magic) != backupMagic {
		return &Error{Path: a.path, What: "it is not a backup", Cause: ErrChoice}
	}
	size, err := readFrameHead(r, frameHeader, maxHeader)
	if err != nil {
		return err
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return eofAsTruncated(err)
	}
	if json.Unmarshal(body, &a.header) != nil || a.header.Version < backupVersion {
		return errors.New("its header can't be read")
	}
	if a.header.Version > backupVersion {
		return &Error{Path: a.path, What: "it was made by another release, a newer one, whose backup format is not known", Cause: store.ErrNewerSchema}
	}
	a.partsStart, _ = r.Seek(0, io.SeekCurrent)
	return nil
}

// readEnd reads the end frame and the sealed manifest before it.
func (a *archive) readEnd() error {
	endStart := a.size - frameHeadSize - endSize
	if endStart < a.partsStart {
		return errTruncated
	}
	r := io.NewSectionReader(a.f, endStart, a.size-endStart)
	size, err := readFrameHead(r, frameEnd, endSize)
	var body [endSize]byte
	if err == nil && size != endSize {
		err = errTruncated
	}
	if err == nil {
		_, err = io.ReadFull(r, body[:])
	}
	if err != nil {
		return errors.New("it does not end as a backup does; it was cut short")
	}
	length := int64(binary.BigEndian.Uint32(body[:]))
	copy(a.endHash[:], body[4:])
	if a.manifestStart = endStart - frameHeadSize - length; length > maxManifest || a.manifestStart < a.partsStart {
		return errors.New("its manifest does not fit")
	}
	r = io.NewSectionReader(a.f, a.manifestStart, frameHeadSize+length)
	if size, err = readFrameHead(r, frameManifest, maxManifest); err != nil {
		return err
	}
	if int64(size) != length {
		return errors.New("its manifest does not fit")
	}
	a.sealedManifest = make([]byte, length)
	_, err = io.ReadFull(r, a.sealedManifest)
	return eofAsTruncated(err)
}

// openManifest decrypts the manifest and checks that it belongs to this file. If decryption fails although the file
// matches its checksum, either the manifest was sealed with other keys, or somebody altered the file on purpose.
func (a *archive) openManifest(ctx context.Context) error {
	plaintext, err := a.unseal()
	if err == nil {
		return a.readManifest(plaintext)
	}
	if damage := a.checkWhole(ctx); damage != nil {
		return damage
	}
	if errors.Is(err, secret.ErrNoSealingKey) {
		return err
	}
	return &Error{Path: a.path, What: "its manifest can't be decrypted with this keyring: it was made with another keyring, or it was altered"}
}

// unseal returns the manifest's plaintext.
func (a *archive) unseal() ([]byte, error) {
	return a.keyring.Open(a.sealedManifest, manifestContext(a.header.ID))
}

// readManifest parses the manifest and compares it with the file.
func (a *archive) readManifest(plaintext []byte) error {
	a.manifest = new(Manifest)
	if json.Unmarshal(plaintext, a.manifest) != nil {
		return damageError(a.path, "its manifest can't be read")
	}
	sealedHeader, err := encodeJSON(&a.manifest.Header)
	if err != nil {
		return err
	}
	plainHeader, err := encodeJSON(&a.header)
	if err != nil {
		return err
	}
	if !bytes.Equal(sealedHeader, plainHeader) {
		return damageError(a.path, "its header is not the one of its manifest")
	}
	offset := a.partsStart
	sum := newChecksum()
	sum.addFrame(frameHeader, plainHeader)
	for i := range a.manifest.Parts {
		sum.Write(a.manifest.Parts[i].SHA256)
		offset += frameHeadSize + int64(a.manifest.Parts[i].Size)
	}
	sum.addFrame(frameManifest, a.sealedManifest)
	if offset != a.manifestStart || !bytes.Equal(sum.Sum(nil), a.endHash[:]) {
		return damageError(a.path, "its parts are not those of its manifest")
	}
	return nil
}

// checkWhole reads the whole file and compares the file's hash with the hash in the end frame. It needs no keys.
func (a *archive) checkWhole(ctx context.Context) error {
	sum := newChecksum()
	// The header's bytes are hashed as they are in the file; the parsed header is not encoded again.
	body := make([]byte, a.partsStart-int64(len(backupMagic))-frameHeadSize)
	if _, err := a.f.ReadAt(body, int64(len(backupMagic))+frameHeadSize); err != nil {
		return a.asBackupError(eofAsTruncated(err))
	}
	sum.addFrame(frameHeader, body)
	parts := bufio.NewReaderSize(io.NewSectionReader(a.f, a.partsStart, a.manifestStart-a.partsStart), 1<<20)
	part := sha256.New()
	meter := progress.From(ctx)
	meter.Begin("checking", "", uint64(a.size))
	for offset := a.partsStart; offset < a.manifestStart; {
		if err := ctx.Err(); err != nil {
			return err
		}
		size, err := readFrameHead(parts, framePart, maxPart)
		if err == nil {
			part.Reset()
			_, err = io.CopyN(part, parts, int64(size))
		}
		if err != nil {
			return a.asBackupError(eofAsTruncated(err))
		}
		sum.Write(part.Sum(nil))
		offset += frameHeadSize + int64(size)
		meter.Count(uint64(size))
	}
	sum.addFrame(frameManifest, a.sealedManifest)
	if !bytes.Equal(sum.Sum(nil), a.endHash[:]) {
		return damageError(a.path, "it does not match its checksum")
	}
	return nil
}

// eachPart decrypts every part in order and calls fn with the plaintext, which fn may keep. If a part differs from
// the manifest, eachPart returns an *Error.
func (a *archive) eachPart(ctx context.Context, fn func(file string, plaintext []byte) error) error {
	meter := progress.From(ctx)
	parts := bufio.NewReaderSize(io.NewSectionReader(a.f, a.partsStart, a.manifestStart-a.partsStart), 1<<20)
	var sealed []byte
	for i := range a.manifest.Parts {
		part := &a.manifest.Parts[i]
		size, err := readFrameHead(parts, framePart, maxPart)
		if err == nil && size != part.Size {
			err = errors.New("a part has another length")
		}
		if err != nil {
			return a.asBackupError(err)
		}
		if cap(sealed) < size {
			sealed = make([]byte, size)
		}
		sealed = sealed[:size]
		if _, err := io.ReadFull(parts, sealed); err != nil {
			return a.asBackupError(eofAsTruncated(err))
		}
		if hash := sha256.Sum256(sealed); !bytes.Equal(hash[:], part.SHA256) {
			return damageError(a.path, "part %d does not match its hash", i+1)
		}
		plaintext, err := a.keyring.Open(sealed, partContext(a.header.ID, i, part.File))
		if err != nil {
			return damageError(a.path, "part %d can't be decrypted", i+1)
		}
		if err := fn(part.File, plaintext); err != nil {
			return err
		}
		meter.Count(uint64(size))
	}
	return nil
}
