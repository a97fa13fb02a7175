package admin

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/api/web/records"
)

// BackupBase identifies the backup on which an incremental backup is based.
type BackupBase struct {
	ID        string // a UUID
	Group     uint64 // number of the last group (changes that became durable with one sync) in the backup
	GroupHash string // the hash of that group: 64 hex digits
	Depth     int    // number of backups in the chain, from the full backup to this one
}

// takeBackup serves POST /backups. It responds with an encrypted backup as a stream. The length is unknown in
// advance; the client recognizes the end by a mark in the format.
func (h *Handlers) takeBackup(req *web.Request) error {
	if err := req.RequireChunks(); err != nil {
		return err
	}
	object, err := req.Object()
	if err != nil {
		return err
	}
	f := form{&records.Form{Object: object, Order: []string{"since"}}}
	// Unknown fields are refused, because a caller who misspells "since" would otherwise get a full backup instead of an
	// incremental one.
	f.AllowOnly("since")
	since := f.parseBase()
	if err := f.Problems.Err(); err != nil {
		return err
	}
	backup, err := h.cfg.Backup(since)
	if err != nil {
		return err
	}
	req.SetStreamHeaders(fiber.MIMEOctetStream)
	if estimated, ok := backup.(interface{ EstimatedBytes() int64 }); ok && estimated.EstimatedBytes() > 0 {
		req.Response.Header.Set("X-Estimated-Bytes", strconv.FormatInt(estimated.EstimatedBytes(), 10))
	}
	req.Stream(backup)
	return nil
}

// parseBase reads the field since of a request for a backup. If the field is absent, it returns nil, which means a full backup.
func (f form) parseBase() *BackupBase {
	value := web.Member(f.Object, "since")
	if value == nil {
		return nil
	}
	if !web.IsObject(value) {
		f.Problems.Add("since", "since must be an object")
		return nil
	}
	sinceForm := &records.Form{Object: value}
	group, depth := sinceForm.RequiredNumber("group"), sinceForm.RequiredNumber("depth")
	base := &BackupBase{ID: sinceForm.TextOrEmpty("id"), Group: uint64(group), GroupHash: sinceForm.TextOrEmpty("group_hash"), Depth: int(min(depth, 1<<16))}
	if sinceForm.Problems.Err() != nil || base.ID == "" || base.GroupHash == "" {
		f.Problems.Add("since", "since must have id, group, group_hash and depth: the first three as the backup's header has them, and how many backups it is with those that it rests on, 1 for a full one")
	}
	return base
}
