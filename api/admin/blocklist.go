package admin

import (
	"context"
	"strings"

	"github.com/gofiber/fiber/v2"

	directoryactor "mizan/actors/directory"
	"mizan/api/web"
	"mizan/api/web/credentials"
	"mizan/api/web/records"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// showBlock writes the fields of an entry of the block list. An entry is a card, a country or something else whose
// transactions are refused.
var showBlock = records.FieldsOf(directory.Blocks)

// createBlock serves POST /blocklist, whose body is {kind, value}.
func (h *Handlers) createBlock(req *web.Request) error {
	reply := records.Reply[*directory.Block]{Status: fiber.StatusCreated, Append: showBlock}
	return runInOrganization(h, req, reply, func(ctx context.Context, org ledger.ID) (*directory.Block, error) {
		f, err := parseForm(req, "kind", "value")
		if err != nil {
			return nil, err
		}
		draft := h.blockDraft(f)
		return records.Decide(ctx, f.Form, func(ctx context.Context) (*directory.Block, error) {
			return h.cfg.Directory.CreateBlock(ctx, org, draft)
		})
	})
}

// blockDraft reads the new entry from the body. If the entry is a card number, the draft contains only a fingerprint
// of the number and the masked number.
func (h *Handlers) blockDraft(f form) directory.BlockDraft {
	d := directory.BlockDraft{Kind: directory.BlockKind(f.TextOrEmpty("kind"))}
	if d.Kind == "" && !f.Problems.HasField("kind") {
		f.Problems.Add("kind", "kind is required")
	}
	if d.Kind != directory.BlockCard {
		if value := f.requiredText("value"); d.Kind != "" {
			d.Value = value
		}
		return d
	}
	value := web.Member(f.Object, "value")
	number, isText := jsonwalk.Text(value)
	switch {
	case value == nil:
		f.Problems.Add("value", "value is required")
	case !isText:
		f.Problems.Add("value", "value must be a string")
	case !isValidCard(number):
		f.Problems.Add("value", "invalid cardnumber")
	default:
		d.Value = h.cfg.Fingerprint(number)
		d.Masked = maskCard(number)
	}
	clear(number) // number may be a copy, and the server wipes only the body itself
	return d
}

// isValidCard tells whether a card number is valid. It uses the rules for payouts, because they require nothing but the number.
func isValidCard(number []byte) bool {
	valid := true
	storage := payment.MoneyStorage{Type: []byte(payment.BankCard), CardNumber: number}
	storage.Check(payment.Payout, func(string, string) { valid = false })
	return valid
}

// maskCard replaces all digits of a card number by stars, except the first six and the last four.
func maskCard(number []byte) string {
	hidden := len(number) - credentials.BINDigits - credentials.LastDigits
	return string(number[:credentials.BINDigits]) + strings.Repeat("*", hidden) + string(number[len(number)-credentials.LastDigits:])
}

// listBlocks serves GET /blocklist?kind. It lists the entries that are in force, newest first.
func (h *Handlers) listBlocks(req *web.Request) error {
	org, err := req.Organization(h.cfg.Directory)
	if err != nil {
		return err
	}
	p, err := parseBlockPage(req)
	if err != nil {
		return err
	}
	return writeRows(req, showBlock)(h.cfg.Directory.ListBlocks(org, p))
}

func parseBlockPage(req *web.Request) (directoryactor.BlockPage, error) {
	q := web.QueryOf(req.RequestCtx, "kind", "limit", "cursor")
	p := directoryactor.BlockPage{Kind: directory.BlockKind(q.Text("kind")), Limit: q.Limit()}
	if _, sent := q.Sent("kind"); sent && !p.Kind.IsValid() {
		q.Problems.Add("kind", "kind must be bin, card, email, phone, ip or country")
	}
	p.After = rowCursor(q)
	return p, q.Problems.Err()
}

// readBlock serves GET /blocklist/{id}.
func (h *Handlers) readBlock(req *web.Request) error {
	org, id, err := h.organizationAndID(req)
	if err != nil {
		return err
	}
	b, err := h.cfg.Directory.Block(org, id)
	if err != nil {
		return err
	}
	web.WriteOne(req, fiber.StatusOK, false, b, showBlock)
	return nil
}

// deleteBlock serves DELETE /blocklist/{id}. The entry is removed from the list; the same card or country can be
// added again later. A second DELETE changes nothing.
func (h *Handlers) deleteBlock(req *web.Request) error {
	reply := records.Reply[*directory.Block]{Status: fiber.StatusOK, Append: showBlock}
	return runOnRecord(h, req, reply, func(ctx context.Context, org, id ledger.ID) (*directory.Block, error) {
		return h.cfg.Directory.DeleteBlock(ctx, org, id)
	})
}
