package api

import (
	"encoding/base64"
	"strconv"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/posting"
)

// readHeadKey is GET /ledger/key: the public half of the key that heads are
// signed with, as golang.org/x/mod/sumdb/note writes it.
func (h *ledgerHandlers) readHeadKey(req *Request) error {
	q := queryOf(req.RequestCtx)
	if err := q.problems.err(); err != nil {
		return err
	}
	var e encoder
	e.open('{')
	e.enter("data", '{')
	e.text("key", h.cfg.HeadKey)
	e.close('}')
	e.close('}')
	writeJSON(req.RequestCtx, fiber.StatusOK, e.buf)
	return nil
}

// proveInclusion is GET /ledger/proofs/inclusion: that the event seq is leaf
// seq − 1 of the tree of the first size events; without size, of all.
func (h *ledgerHandlers) proveInclusion(req *Request) error {
	q := queryOf(req.RequestCtx, "seq", "size")
	seq, size := requiredPosition(q, "seq"), position(q, "size")
	if err := q.problems.err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	size, err := orHead(view, req, size)
	if err != nil {
		return err
	}
	p, err := view.Inclusion(req.Principal.Org, seq, size)
	if err != nil {
		return err
	}
	var e encoder
	e.open('{')
	e.enter("data", '{')
	e.integer("seq", int64(p.Seq))
	e.integer("size", int64(p.Size))
	e.word("leaf", base64.StdEncoding.EncodeToString(p.Leaf))
	e.word("root", p.Root.String())
	appendHashes(&e, "proof", p.Path)
	e.close('}')
	e.close('}')
	writeJSON(req.RequestCtx, fiber.StatusOK, e.buf)
	return nil
}

// proveConsistency is GET /ledger/proofs/consistency: that the journal of from
// events is the beginning of the one of to events; without to, of all.
func (h *ledgerHandlers) proveConsistency(req *Request) error {
	q := queryOf(req.RequestCtx, "from", "to")
	from, to := requiredPosition(q, "from"), position(q, "to")
	if err := q.problems.err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	to, err := orHead(view, req, to)
	if err != nil {
		return err
	}
	p, err := view.Consistency(req.Principal.Org, from, to)
	if err != nil {
		return err
	}
	var e encoder
	e.open('{')
	e.enter("data", '{')
	e.integer("from", int64(p.From))
	e.integer("to", int64(p.To))
	e.word("from_root", p.FromRoot.String())
	e.word("to_root", p.ToRoot.String())
	appendHashes(&e, "proof", p.Path)
	e.close('}')
	e.close('}')
	writeJSON(req.RequestCtx, fiber.StatusOK, e.buf)
	return nil
}

// orHead is the size that was asked for, else the size of the caller's journal.
func orHead(view *posting.View, req *Request, size uint64) (uint64, error) {
	if size != 0 {
		return size, nil
	}
	size, _, err := view.Head(req.Principal.Org)
	return size, err
}

// position is a place in the journal, which must be sent.
func requiredPosition(q *query, name string) uint64 {
	if _, sent := q.sent(name); !sent && len(q.problems) == 0 {
		q.problems.add(name, name+" is required")
	}
	return position(q, name)
}

// positionOr is a place in the journal; 0 if none was sent.
func position(q *query, name string) uint64 {
	said, sent := q.sent(name)
	if !sent {
		return 0
	}
	n, err := strconv.ParseUint(said, 10, 63)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != said {
		q.problems.add(name, name+" must be a whole number from 1")
	}
	return n
}

// hashes writes a list of hashes in base64.
func appendHashes(e *encoder, name string, hashes []tlog.Hash) {
	texts := make([]string, len(hashes))
	for i := range hashes {
		texts[i] = hashes[i].String()
	}
	e.texts(name, texts)
}
