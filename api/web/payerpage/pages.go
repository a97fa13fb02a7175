package payerpage

import (
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/schema"
)

// Parts of the addresses of payers' pages.
const (
	Root       = "/pay"
	ReturnEnd  = "/return"  // suffix of the address to which a provider sends the payer back
	ReceiptEnd = "/receipt" // suffix of the address of a receipt
	TokenParam = "token"

	// Lifetime is how long the address of a hosted page is valid (specification, "create", rule 7). The links on a page
	// (see LastingPath) stay valid for the same time after the payer may no longer act.
	Lifetime = 15 * time.Minute

	// ReceiptLifetime is how long the address of a receipt is valid.
	ReceiptLifetime = 180 * 24 * time.Hour

	tokenPurpose      = "pay"
	lastingPurpose    = "stay"
	receiptPurpose    = "receipt"
	tokenSeparator    = "."
	organizationChars = 22 // length of an organization's id in base64url
)

// ErrToken is the error for a token that this service did not issue, or that it issued for another transaction. The two
// cases have the same response.
var ErrToken = errors.New("payerpage: not a token of this page")

// ErrExpired is the error for an expired token.
var ErrExpired = errors.New("payerpage: the token has expired")

// Pages makes and opens the addresses of payers' pages. An address contains everything needed to open it, so its holder
// counts as the payer. The zero value is for a service that has no pages for payers.
type Pages struct {
	Base   string             // scheme and host that payers reach, without a slash at the end
	Tokens *secret.PageTokens // nil if the service has no pages for payers
}

// Address returns the address of the transaction's page, shown as widget_url and simple_auth_redirect_url. The address is
// valid until the given time.
func (p Pages) Address(org, id ledger.ID, until time.Time) string {
	return p.Base + p.Path(org, id, "", until)
}

// Return returns the address to which a provider sends the payer after the payer's action. After the given time, the
// address only leads back to the merchant.
func (p Pages) Return(org, id ledger.ID, until time.Time) string {
	return p.Base + p.Path(org, id, ReturnEnd, until)
}

// LastingPath returns the path of a transaction's page for links on the pages themselves. The path contains a lasting
// token, which is valid until the given time. Unlike other tokens, a lasting token still proves after this time that its
// holder was on the page.
func (p Pages) LastingPath(org, id ledger.ID, until time.Time) string {
	return PathOf(id, "", p.issue(lastingPurpose, org, id, until))
}

// Path returns the path of a transaction's page, with a token that is valid until the given time. The suffix is empty or
// ReturnEnd.
func (p Pages) Path(org, id ledger.ID, suffix string, until time.Time) string {
	return PathOf(id, suffix, p.issue(tokenPurpose, org, id, until))
}

// Receipt returns the path of a transaction's receipt. Its token is valid until the given time, and opens only the
// receipt.
func (p Pages) Receipt(org, id ledger.ID, until time.Time) string {
	return PathOf(id, ReceiptEnd, p.issue(receiptPurpose, org, id, until))
}

func (p Pages) issue(purpose string, org, id ledger.ID, until time.Time) string {
	return base64.RawURLEncoding.EncodeToString(org[:]) + tokenSeparator + p.Tokens.Issue(purpose, org, id, until)
}

// PathOf returns the path of a transaction's page, with a token that was issued before. The suffix is empty, ReturnEnd or
// ReceiptEnd.
func PathOf(id ledger.ID, suffix, token string) string {
	return Root + "/" + string(schema.AppendID(nil, id)) + suffix + "?" + TokenParam + "=" + token
}

// Open returns the organization for which a token was issued. If the token has expired, Open returns
// ErrExpired together with the organization. Any other error is ErrToken.
func (p Pages) Open(id ledger.ID, token string, now time.Time) (org ledger.ID, err error) {
	return p.open(tokenPurpose, id, token, now)
}

// OpenLasting is like Open, but accepts only tokens from paths that LastingPath has returned.
func (p Pages) OpenLasting(id ledger.ID, token string, now time.Time) (org ledger.ID, err error) {
	return p.open(lastingPurpose, id, token, now)
}

// OpenReceipt is like Open, but accepts only tokens of receipts.
func (p Pages) OpenReceipt(id ledger.ID, token string, now time.Time) (org ledger.ID, err error) {
	return p.open(receiptPurpose, id, token, now)
}

// OrganizationOf returns the organization that a token names, without checking the token. If it names none, the id is zero.
func OrganizationOf(token string) ledger.ID {
	org, _, _ := split(token)
	return org
}

// split returns the organization that a token names, and the rest of the token.
func split(token string) (org ledger.ID, tag string, ok bool) {
	payload, tag, found := strings.Cut(token, tokenSeparator)
	if !found || len(payload) != organizationChars {
		return org, "", false
	}
	if n, err := base64.RawURLEncoding.Strict().Decode(org[:], []byte(payload)); err != nil || n != len(org) {
		return ledger.ID{}, "", false
	}
	return org, tag, true
}

func (p Pages) open(purpose string, id ledger.ID, token string, now time.Time) (org ledger.ID, err error) {
	org, tag, ok := split(token)
	if !ok {
		return ledger.ID{}, ErrToken
	}
	switch err := p.Tokens.Check(purpose, org, id, tag, now); {
	case errors.Is(err, secret.ErrExpired):
		return org, ErrExpired
	case err != nil:
		return ledger.ID{}, ErrToken
	}
	return org, nil
}
