package ledgerapi

import (
	"log/slog"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/mod/sumdb/note"

	"mizan/api/web"
	"mizan/api/web/journal"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting/balances"
)

// Config has the settings of the ledger's handlers and the services that they call.
type Config struct {
	Journal web.Journal
	Authors journal.Directory
	Clock   clock.Clock
	Log     *slog.Logger

	Signer  note.Signer // signs the ledger's heads
	HeadKey string      // the public half of Signer's key, in the form that note.NewVerifier parses

	// Periods closes months. If it is nil, there is no route that closes a month.
	Periods Periods

	// LastCheck returns the result of the last check of the store, or nil if the store was never checked. If LastCheck itself
	// is nil, there is no route for the result.
	LastCheck func() (*CheckResult, error)

	// Fingerprint returns a keyed hash of a request that has an Idempotency-Key.
	Fingerprint func(content []byte) string
}

// Handlers serves the routes of the ledger.
type Handlers struct {
	cfg       Config
	keys      web.IdempotencyKeys
	exports   *exports
	balances  balances.Reader
	refresher *sumRefresher
}

// New returns the handlers.
func New(cfg Config) *Handlers {
	h := &Handlers{cfg: cfg, keys: web.IdempotencyKeys{Fingerprint: cfg.Fingerprint}, exports: newExports()}
	h.refresher = newSumRefresher(h.extendSums)
	return h
}

// ReaderIsHere reports that a person who may soon read sums of the organization's accounts has come. The sums are then kept up
// to date in the background for some minutes.
func (h *Handlers) ReaderIsHere(org ledger.ID) { h.refresher.keepFresh(org) }

// extendSums updates the organization's sums of groups of accounts.
func (h *Handlers) extendSums(org ledger.ID) error {
	view, _, err := h.balances.PresentView(org, h.cfg.Journal.View)
	if err == nil {
		view.Close()
	}
	return err
}

// Close ends the exports and the updates of sums in the background. It returns when none of them reads the journal anymore.
func (h *Handlers) Close() {
	h.exports.close()
	h.refresher.close()
}

// ledgerPath is the prefix of the ledger's paths.
const ledgerPath = "/api/v1/ledger"

// Routes returns the routes of the ledger. A partner may read its own accounts. Heads, proofs, closed months and exports show
// whole events, so only the organization's auditors may read them.
func (h *Handlers) Routes() []web.Route {
	const get, post = fiber.MethodGet, fiber.MethodPost
	reader := web.Access{Callers: web.PartnerKey | web.PartnerSession | web.Session, Roles: web.LedgerRoles}
	auditor := web.Access{Callers: web.Session, Roles: web.LedgerRoles, PartnerRefusal: "this needs a session of role auditor or admin"}
	routes := []web.Route{
		{Method: get, Path: ledgerPath + "/accounts", Access: reader, Handle: h.listAccounts},
		{Method: get, Path: ledgerPath + "/accounts/:path", Access: reader, Handle: h.readAccount},
		{Method: get, Path: ledgerPath + "/accounts/:path/postings", Access: reader, Handle: h.readStatement},
		{Method: get, Path: ledgerPath + "/trial-balance", Access: reader, Handle: h.trialBalance},
		{Method: get, Path: ledgerPath + "/totals", Access: auditor, Handle: h.readTotals},
		{Method: get, Path: ledgerPath + "/entries", Access: reader, Handle: h.listEntries},
		{Method: get, Path: ledgerPath + "/entries/:seq", Access: reader, Handle: h.readEntry},
		{Method: get, Path: ledgerPath + "/events", Access: reader, Handle: h.listEvents},
		{Method: get, Path: ledgerPath + "/events/:seq", Access: reader, Handle: h.readEvent},
		{Method: get, Path: ledgerPath + "/head", Access: auditor, Handle: h.readHead},
		{Method: get, Path: ledgerPath + "/key", Access: auditor, Handle: h.readHeadKey},
		{Method: get, Path: ledgerPath + "/proofs/inclusion", Access: auditor, Handle: h.proveInclusion},
		{Method: get, Path: ledgerPath + "/proofs/consistency", Access: auditor, Handle: h.proveConsistency},
		{Method: get, Path: ledgerPath + "/periods", Access: auditor, Handle: h.listPeriods},
		{Method: get, Path: ledgerPath + "/export", Access: auditor, Handle: h.export},
	}
	if h.cfg.LastCheck != nil {
		routes = append(routes, web.Route{Method: get, Path: ledgerPath + "/check", Access: auditor, Handle: h.readLastCheck})
	}
	if h.cfg.Periods != nil {
		closer := web.Access{Callers: web.Session, Roles: []directory.Role{directory.Admin}}
		routes = append(routes, web.Route{Method: post, Path: ledgerPath + "/periods/:month/close", Access: closer, Command: true, Handle: h.closePeriod}) // the body may be absent
	}
	return routes
}
