package api

import (
	"encoding/base64"
	"strconv"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/posting"
)

// proofRoutes are what an auditor asks in order to believe nobody: the key that
// heads are signed with, and proofs against them. They show events whole, so a
// partner's key opens none of them.
func proofRoutes() []route {
	const ledger = "/api/v1/ledger"
	return []route{
		{method: fiber.MethodGet, path: ledger + "/key", access: auditor, handle: (*Server).readHeadKey},
		{method: fiber.MethodGet, path: ledger + "/proofs/inclusion", access: auditor, handle: (*Server).proveInclusion},
		{method: fiber.MethodGet, path: ledger + "/proofs/consistency", access: auditor, handle: (*Server).proveConsistency},
	}
}

// readHeadKey is GET /ledger/key: the public half of the key that heads are
// signed with, as golang.org/x/mod/sumdb/note writes it.
func (h *Server) readHeadKey(req *call) error {
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
func (h *Server) proveInclusion(req *call) error {
	q := queryOf(req.RequestCtx, "seq", "size")
	seq, size := q.position("seq"), q.positionOr("size")
	if err := q.problems.err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	size, err := orHead(view, req, size)
	if err != nil {
		return err
	}
	p, err := view.Inclusion(req.who.Org, seq, size)
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
	e.hashes("proof", p.Path)
	e.close('}')
	e.close('}')
	writeJSON(req.RequestCtx, fiber.StatusOK, e.buf)
	return nil
}

// proveConsistency is GET /ledger/proofs/consistency: that the journal of from
// events is the beginning of the one of to events; without to, of all.
func (h *Server) proveConsistency(req *call) error {
	q := queryOf(req.RequestCtx, "from", "to")
	from, to := q.position("from"), q.positionOr("to")
	if err := q.problems.err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	to, err := orHead(view, req, to)
	if err != nil {
		return err
	}
	p, err := view.Consistency(req.who.Org, from, to)
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
	e.hashes("proof", p.Path)
	e.close('}')
	e.close('}')
	writeJSON(req.RequestCtx, fiber.StatusOK, e.buf)
	return nil
}

// orHead is the size that was asked for, else the size of the caller's journal.
func orHead(view *posting.View, req *call, size uint64) (uint64, error) {
	if size != 0 {
		return size, nil
	}
	size, _, err := view.Head(req.who.Org)
	return size, err
}

// position is a place in the journal, which must be sent.
func (q *query) position(name string) uint64 {
	if _, sent := q.values[name]; !sent && len(q.problems) == 0 {
		q.problems.add(name, name+" is required")
	}
	return q.positionOr(name)
}

// positionOr is a place in the journal; 0 if none was sent.
func (q *query) positionOr(name string) uint64 {
	said, sent := q.values[name]
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
func (e *encoder) hashes(name string, hashes []tlog.Hash) {
	texts := make([]string, len(hashes))
	for i := range hashes {
		texts[i] = hashes[i].String()
	}
	e.texts(name, texts)
}
