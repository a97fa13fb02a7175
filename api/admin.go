package api

import (
	"context"
	"strconv"
	"strings"
	"time"

	"mizan/actors"
	directoryactor "mizan/actors/directory"
	"mizan/api/auth"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// commandWait is how long a change of the directory may take, in real time;
// afterwards it is unknown whether it is done.
const commandWait = 15 * time.Second

// Directory changes and lists who takes part; *directory.Service of actors is
// one. Errors are *ledger.Refusal, or directory.Refusals where several fields are wrong.
type Directory interface {
	auth.Directory

	SoleOrganization() (ledger.ID, bool)
	CreateOrganization(context.Context, directory.OrganizationDraft) (*directory.Organization, error)
	PatchOrganization(context.Context, ledger.ID, directory.OrganizationPatch) (*directory.Organization, error)
	ListOrganizations(directoryactor.Page) ([]*directory.Organization, directoryactor.Cursor, error)

	Partner(org ledger.ID, number int64) (*directory.Partner, bool)
	CreatePartner(ctx context.Context, org ledger.ID, d directory.PartnerDraft, pass []byte) (*directory.Partner, error)
	PatchPartner(ctx context.Context, org ledger.ID, number int64, p directory.PartnerPatch) (*directory.Partner, error)
	ListPartners(ledger.ID, directoryactor.Page) ([]*directory.Partner, directoryactor.Cursor, error)

	Terminal(org, id ledger.ID) (*directory.Terminal, bool)
	FindTerminal(id ledger.ID) (*directory.Terminal, bool)
	CreateTerminal(context.Context, ledger.ID, directory.TerminalDraft) (*directory.Terminal, error)
	PatchTerminal(ctx context.Context, org, id ledger.ID, p directory.TerminalPatch) (*directory.Terminal, error)
	ListTerminals(ledger.ID, directoryactor.Page) ([]*directory.Terminal, directoryactor.Cursor, error)

	CreateAPIKey(context.Context, ledger.ID, directory.APIKeyDraft) (*directory.APIKey, secret.Text, error)
	RevokeAPIKey(ctx context.Context, org, id ledger.ID) (directoryactor.ListedKey, error)
	ListAPIKeys(ledger.ID, directoryactor.Page) ([]directoryactor.ListedKey, directoryactor.Cursor, error)

	PutRate(context.Context, ledger.ID, directory.RateDraft) (*directory.Rate, error)
	ListRates(ledger.ID, directoryactor.Page) ([]*directory.Rate, directoryactor.Cursor, error)

	Settlements

	Limits

	People

	// Answered is what a write whose context came from directory.Once was answered with.
	Answered(actors.Key) (answer directoryactor.Answer, found bool, err error)

	// KeepAnswer has such a write's answer kept in another actor's Change.
	KeepAnswer(ctx context.Context, org ledger.ID, change *posting.Change, made any) error

	// Receives tells whether something may have been told to a terminal, or to a
	// partner that has none, of the organization.
	Receives(org, to ledger.ID) bool
}

// organization is the one that an administration's request is about: named by
// its header, or the only one there is.
func (h *Server) organization(req *call) (ledger.ID, error) {
	const header = "x-organization-id"
	named := req.Request.Header.PeekBytes(headerOrg)
	if len(named) == 0 {
		if sole, only := h.cfg.Directory.SoleOrganization(); only {
			return sole, nil
		}
		return ledger.ID{}, ledger.RefuseField("api.organization", header, "%s is required", header)
	}
	if err := namedOnce(named); err != nil {
		return ledger.ID{}, err
	}
	id, err := parseID(string(named))
	if err != nil {
		return ledger.ID{}, ledger.RefuseField("api.organization", header, "%s must be a UUID", header)
	}
	if _, found := h.cfg.Directory.Organization(id); !found {
		return ledger.ID{}, ledger.Refuse("api.organization", ledger.NotFound, "no such organization")
	}
	return id, nil
}

// pageOf reads the parameters that the administration's lists share.
func pageOf(req *call, known ...string) (directoryactor.Page, error) {
	q := queryOf(req.RequestCtx, append(known, "limit", "cursor")...)
	p := directoryactor.Page{Limit: q.limit()}
	if said, sent := q.values["partner_id"]; sent {
		n, err := strconv.ParseInt(said, 10, 64)
		if err != nil || n < 1 {
			q.problems.add("partner_id", "partner_id must be a positive integer")
		}
		p.Partner = n
	}
	p.After = q.row()
	return p, q.problems.err()
}

// row is a cursor of an administration's list: the row after which the page begins.
func (q *query) row() (after directoryactor.Cursor) {
	said, sent := q.values["cursor"]
	if !sent {
		return after
	}
	// The '+' of an offset that was not escaped in the query arrives as a space.
	after, err := directoryactor.ParseCursor(strings.Replace(said, " ", "+", 1))
	if err != nil || after.IsZero() {
		q.badCursor()
	}
	return after
}

// partnerNumber is a partner's id in a path; one that is no number is nobody's.
func partnerNumber(req *call) (int64, error) {
	said := req.parameter("id")
	n, err := strconv.ParseInt(said, 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != said {
		return 0, notFound()
	}
	return n, nil
}

// single answers with one thing: {data: {...}}, and where the specification
// shows its fields bare, also at the top level.
func single[T any](req *call, status int, bare bool, thing T, appendThing func(*encoder, T)) {
	writeJSON(req.RequestCtx, status, singleBody(bare, thing, appendThing))
}

func singleBody[T any](bare bool, thing T, appendThing func(*encoder, T)) []byte {
	var e encoder
	e.open('{')
	if bare {
		appendThing(&e, thing)
	}
	e.enter("data", '{')
	appendThing(&e, thing)
	e.close('}')
	e.close('}')
	return e.buf
}
