package ledgerapi

import (
	"fmt"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/api/web"
)

// headResponse is the signed head of a journal: the number of its events and the root of their hash tree. Bytes are in base64.
type headResponse struct {
	Size      uint64 `json:"tree_size"`
	Root      []byte `json:"root"`
	Signature []byte `json:"signature"`
}

// readHead is GET /ledger/head: the size and root of the organization's tree of events, and a signed note
// (golang.org/x/mod/sumdb/note) that contains both. The note begins with the three lines of tlog.FormatTree. Then follows a
// line with the organization's id, which parsers skip. The same key signs the heads of all organizations, so without this line
// one organization's head could be passed off as another's.
func (h *Handlers) readHead(req *web.Request) error {
	q := web.QueryOf(req.RequestCtx)
	if err := q.Problems.Err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	size, root, err := view.Head(req.Principal.Org)
	if err != nil {
		return err
	}
	head := tlog.FormatTree(tlog.Tree{N: int64(size), Hash: tlog.Hash(root)})
	head = fmt.Appendf(head, "organization %s\n", req.Principal.Org)
	signed, err := note.Sign(&note.Note{Text: string(head)}, h.cfg.Signer)
	if err != nil {
		return fmt.Errorf("signing a head: %w", err)
	}
	web.WriteData(req, fiber.StatusOK, headResponse{size, root[:], signed})
	return nil
}
