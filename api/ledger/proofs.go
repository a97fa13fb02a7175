package ledgerapi

import (
	"encoding/base64"
	"strconv"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/api/web"
	"mizan/ledger/schema"
	"mizan/posting"
)

// readHeadKey is GET /ledger/key: the public half of the key that heads are
// signed with, as golang.org/x/mod/sumdb/note writes it.
func (h *Handlers) readHeadKey(req *web.Request) error {
	q := web.QueryOf(req.RequestCtx)
	if err := q.Problems.Err(); err != nil {
		return err
	}
	var e schema.Encoder
	e.Open('{')
	e.Enter("data", '{')
	e.Text("key", h.cfg.HeadKey)
	e.Close('}')
	e.Close('}')
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, e.Buf)
	return nil
}

// proveInclusion is GET /ledger/proofs/inclusion: a proof that event seq is leaf seq − 1 of the
// tree of the first size events. Without size the tree of all events is used.
func (h *Handlers) proveInclusion(req *web.Request) error {
	q := web.QueryOf(req.RequestCtx, "seq", "size")
	seq, size := requiredPosition(q, "seq"), position(q, "size")
	if err := q.Problems.Err(); err != nil {
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
	var e schema.Encoder
	e.Open('{')
	e.Enter("data", '{')
	e.Integer("seq", int64(p.Seq))
	e.Integer("size", int64(p.Size))
	e.Word("leaf", base64.StdEncoding.EncodeToString(p.Leaf))
	e.Word("root", p.Root.String())
	appendHashes(&e, "proof", p.Path)
	e.Close('}')
	e.Close('}')
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, e.Buf)
	return nil
}

// proveConsistency is GET /ledger/proofs/consistency: a proof that the journal of from events
// is a prefix of the journal of to events. Without to, all events are used.
func (h *Handlers) proveConsistency(req *web.Request) error {
	q := web.QueryOf(req.RequestCtx, "from", "to")
	from, to := requiredPosition(q, "from"), position(q, "to")
	if err := q.Problems.Err(); err != nil {
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
	var e schema.Encoder
	e.Open('{')
	e.Enter("data", '{')
	e.Integer("from", int64(p.From))
	e.Integer("to", int64(p.To))
	e.Word("from_root", p.FromRoot.String())
	e.Word("to_root", p.ToRoot.String())
	appendHashes(&e, "proof", p.Path)
	e.Close('}')
	e.Close('}')
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, e.Buf)
	return nil
}

// orHead returns the requested size or, if it is 0, that of the caller's journal.
func orHead(view *posting.View, req *web.Request, size uint64) (uint64, error) {
	if size != 0 {
		return size, nil
	}
	size, _, err := view.Head(req.Principal.Org)
	return size, err
}

// requiredPosition reads a required seq or size.
func requiredPosition(q *web.Query, name string) uint64 {
	if _, sent := q.Sent(name); !sent && len(q.Problems) == 0 {
		q.Problems.Add(name, name+" is required")
	}
	return position(q, name)
}

// position reads a seq or size; 0 if none was sent.
func position(q *web.Query, name string) uint64 {
	text, sent := q.Sent(name)
	if !sent {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != text {
		q.Problems.Add(name, name+" must be a whole number from 1")
	}
	return n
}

// appendHashes writes a list of hashes in base64.
func appendHashes(e *schema.Encoder, name string, hashes []tlog.Hash) {
	texts := make([]string, len(hashes))
	for i := range hashes {
		texts[i] = hashes[i].String()
	}
	e.Texts(name, texts)
}
