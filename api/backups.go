package api

import (
	"io"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"
)

// backupsPath is where backups are taken.
const backupsPath = "/api/v1/backups"

// BackupBase names the backup that an increment rests on, as its header does.
type BackupBase struct {
	ID        string // a UUID
	Group     uint64 // that it shows
	GroupHash string // 64 digits of hex
	Depth     int    // how many it rests on, itself included
}

// backupRoutes are there where there is somebody to take backups.
func (s *Server) backupRoutes() []route {
	if s.cfg.Backup == nil {
		return nil
	}
	return []route{{method: fiber.MethodPost, path: backupsPath, access: admin, body: true, handle: (*Server).takeBackup}}
}

// takeBackup is POST /backups: a stream without a length, sealed, which ends with a
// mark of its own. One that ends before its time breaks the connection too.
func (s *Server) takeBackup(c *call) error {
	f, err := formOf(c, "since")
	if err != nil {
		return err
	}
	since := f.base()
	if err := f.problems.err(); err != nil {
		return err
	}
	backup, err := s.cfg.Backup(since)
	if err != nil {
		return err
	}
	c.Response.Header.SetContentType(fiber.MIMEOctetStream)
	c.Response.Header.SetCanonical(headerCache, valueNoStore)
	c.Response.Header.SetCanonical(headerNoSniff, valueNoSniff)
	c.Response.ImmediateHeaderFlush = true
	c.Response.SetBodyStream(&backupBody{ReadCloser: backup, to: c.Conn()}, -1)
	return nil
}

// base is the field since; nil: a full backup is wanted.
func (f *form) base() *BackupBase {
	value := member(f.object, "since")
	if value == nil {
		return nil
	}
	if !isObject(value) {
		f.problems.add("since", "since must be an object")
		return nil
	}
	inner := &form{object: value}
	group, depth := inner.required("group"), inner.required("depth")
	base := &BackupBase{ID: inner.textOr("id"), Group: uint64(group), GroupHash: inner.textOr("group_hash"), Depth: int(min(depth, 1<<16))}
	if inner.problems.err() != nil || base.ID == "" || base.GroupHash == "" {
		f.problems.add("since", "since must have id, group, group_hash and depth, as the backup's header has them")
	}
	return base
}

// backupBody is what the transport sends. The bound on writing counts from the last
// piece: a backup may take long, but not a reader that has stopped reading.
type backupBody struct {
	io.ReadCloser
	to net.Conn
}

// Read implements io.Reader.
func (b *backupBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		if late := b.to.SetWriteDeadline(time.Now().Add(writeTimeout)); late != nil {
			return 0, late
		}
	}
	return n, err
}
