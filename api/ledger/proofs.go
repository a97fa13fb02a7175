package ledgerapi

import (
	"strconv"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/api/web"
	"mizan/posting"
)

// keyResponse is the public key that verifies the signatures of heads (readHead explains them).
type keyResponse struct {
	Key string `json:"key"`
}

// inclusionResponse is a proof that an event is in a journal; bytes and hashes are in base64.
type inclusionResponse struct {
	Seq  uint64      `json:"seq"`
	Size uint64      `json:"size"`
	Leaf []byte      `json:"leaf"`
	Root tlog.Hash   `json:"root"`
	Path []tlog.Hash `json:"proof"`
}

// consistencyResponse is a proof that one journal extends another; hashes are in base64.
type consistencyResponse struct {
	From     uint64      `json:"from"`
	To       uint64      `json:"to"`
	FromRoot tlog.Hash   `json:"from_root"`
	ToRoot   tlog.Hash   `json:"to_root"`
	Path     []tlog.Hash `json:"proof"`
}

// readHeadKey is GET /ledger/key: the public half of the key that signs heads, in the text form of
// golang.org/x/mod/sumdb/note.
func (h *Handlers) readHeadKey(req *web.Request) error {
	q := web.QueryOf(req.RequestCtx)
	if err := q.Problems.Err(); err != nil {
		return err
	}
	web.WriteData(req, fiber.StatusOK, keyResponse{h.cfg.HeadKey})
	return nil
}

// proveInclusion is GET /ledger/proofs/inclusion?seq&size: a proof that an event is in the tree of the
// journal's first size events. The event with the number seq is the leaf with the index seq − 1. If the
// parameter size is missing, the tree contains all events.
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
	web.WriteData(req, fiber.StatusOK, inclusionResponse{p.Seq, p.Size, p.Leaf, p.Root, p.Path})
	return nil
}

// proveConsistency is GET /ledger/proofs/consistency?from&to: a proof that the journal only grew
// between the sizes from and to: when it had from events, they were the same as its first from events
// now. If the parameter to is missing, the second size is the current size.
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
	web.WriteData(req, fiber.StatusOK, consistencyResponse{p.From, p.To, p.FromRoot, p.ToRoot, p.Path})
	return nil
}

// orHead returns size or, if size is 0, the current size of the caller's journal.
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

// position reads a seq or size. It returns 0 if the parameter was not sent.
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
