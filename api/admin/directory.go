package admin

import (
	"context"
	"strconv"
	"strings"

	"mizan/actors"
	directoryactor "mizan/actors/directory"
	"mizan/api/auth"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting"
)

// Directory changes and lists the directory's records (organizations, partners, users, keys, …). The type *Service of
// actors/directory implements it. An error is a *ledger.Refusal, or directory.Refusals if several fields are wrong.
type Directory interface {
	auth.Directory

	SoleOrganization() (ledger.ID, bool)
	CreateOrganization(context.Context, directory.Organization) (*directory.Organization, error)
	PatchOrganization(context.Context, ledger.ID, schema.Change[directory.Organization]) (*directory.Organization, error)
	ListOrganizations(directoryactor.Page) ([]*directory.Organization, directoryactor.Cursor, error)

	Partner(org ledger.ID, number int64) (*directory.Partner, bool)
	CreatePartner(ctx context.Context, org ledger.ID, draft directory.Partner, pass []byte) (*directory.Partner, error)
	PatchPartner(ctx context.Context, org ledger.ID, number int64, change schema.Change[directory.Partner]) (*directory.Partner, error)
	ListPartners(ledger.ID, directoryactor.Page) ([]*directory.Partner, directoryactor.Cursor, error)

	Terminal(org, id ledger.ID) (*directory.Terminal, bool)
	FindTerminal(id ledger.ID) (*directory.Terminal, bool)
	CreateTerminal(context.Context, ledger.ID, directory.Terminal) (*directory.Terminal, error)
	PatchTerminal(ctx context.Context, org, id ledger.ID, change schema.Change[directory.Terminal]) (*directory.Terminal, error)
	ListTerminals(ledger.ID, directoryactor.Page) ([]*directory.Terminal, directoryactor.Cursor, error)

	APIKey(org, id ledger.ID) (*directory.APIKey, bool)
	CreateAPIKey(context.Context, ledger.ID, directory.APIKey) (*directory.APIKey, error)
	RevokeAPIKey(ctx context.Context, org, id ledger.ID) (*directory.APIKey, error)
	ListAPIKeys(ledger.ID, directoryactor.Page) ([]*directory.APIKey, directoryactor.Cursor, error)

	// The four functions below call fn for each record of an organization, newest first, until fn returns false.
	EachPartner(org ledger.ID, fn func(*directory.Partner) (more bool)) error
	EachTerminal(org ledger.ID, fn func(*directory.Terminal) (more bool)) error
	EachAPIKey(org ledger.ID, fn func(*directory.APIKey) (more bool)) error
	EachUser(org ledger.ID, fn func(*directory.User) (more bool)) error

	PutRate(context.Context, ledger.ID, directory.Rate) (*directory.Rate, error)
	RateByID(org, id ledger.ID) (*directory.Rate, bool)
	ListRates(ledger.ID, directoryactor.Page) ([]*directory.Rate, directoryactor.Cursor, error)

	Settlements

	Limits

	Users

	SelfService

	// FindCachedReply returns the stored reply to an earlier write request with the same idempotency key.
	FindCachedReply(actors.Key) (answer directoryactor.CachedReply, found bool, err error)

	// StoreReply is for writes that an actor of another package makes. It adds the reply to the write's Change, so that the
	// write and the reply are stored together. If the request is repeated with the same Idempotency-Key, the stored reply is
	// sent again. The context must come from WithCachedReply of actors/directory; without a key StoreReply does nothing.
	StoreReply(ctx context.Context, org ledger.ID, change *posting.Change, result any) error

	// PartnerOfRecipient returns the number of the partner that receives the notifications to a recipient, which is the partner
	// itself or one of its terminals. If the organization has no such partner or terminal, ok is false.
	PartnerOfRecipient(org, recipient ledger.ID) (number int64, ok bool)
}

// parsePage reads the query parameters that all lists of the administration share. The argument known contains the names
// of the list's other parameters.
func parsePage(req *web.Request, known ...string) (directoryactor.Page, error) {
	q := web.QueryOf(req.RequestCtx, append(known, "limit", "cursor")...)
	p := directoryactor.Page{Limit: q.Limit()}
	if text, sent := q.Sent("partner_id"); sent {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			q.Problems.Add("partner_id", "partner_id must be a positive integer")
		}
		p.Partner = n
	}
	if req.OwnPartner != 0 {
		p.Partner = req.OwnPartner
	}
	p.After = rowCursor(q)
	return p, q.Problems.Err()
}

// rowCursor reads the parameter cursor of an administration list. The page begins after the row that the cursor names.
func rowCursor(q *web.Query) (after directoryactor.Cursor) {
	text, sent := q.Sent("cursor")
	if !sent {
		return after
	}
	// If the client did not escape the '+' of a time zone's offset, it arrives as a space.
	after, err := directoryactor.ParseCursor(strings.Replace(text, " ", "+", 1))
	if err != nil || after.IsZero() {
		q.RefuseCursor()
	}
	return after
}

// partnerNumber reads a partner's number from the URL path. It returns NotFound if the number is malformed, or if the
// request is restricted to another partner.
func partnerNumber(req *web.Request) (int64, error) {
	text := req.Parameter("id")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != text {
		return 0, web.NotFound()
	}
	if req.OwnPartner != 0 && n != req.OwnPartner {
		return 0, web.NotFound()
	}
	return n, nil
}
