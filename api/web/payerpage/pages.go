package payerpage

import (
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"mizan/api/web"
	"mizan/internal/secret"
	"mizan/ledger"
)

// Where payers go, and how long the address of a hosted page lasts.
const (
	Root       = "/pay"
	TokenParam = "token"
	payPurpose = "pay"
	Lifetime   = 15 * time.Minute // specification, "create", rule 7
	orgLength  = 22               // base64url of an organization's id
	tokenSplit = "."
	ReturnEnd  = "/return"
)

// errToken is a token that is not ours, or not for what was asked: who has none
// learns nothing else.
var ErrToken = errors.New("api: not a page token")

// errTokenExpired is a token of ours whose time is over.
var ErrExpired = errors.New("api: the page token has expired")

// Pages knows where the payers of transactions find their pages. The address
// carries all that is needed to open one, so whoever has it is the payer. The
// zero value is no pages.
type Pages struct {
	Base   string             // scheme and host that payers reach; no slash at its end
	Tokens *secret.PageTokens // nil: there are no pages
}

// Address is the transaction's page, as the protocol's widget_url and
// simple_auth_redirect_url have it. It opens before until.
func (p Pages) Address(org, id ledger.ID, until time.Time) string {
	return p.Base + p.Path(org, id, "", until)
}

// Return is where a rail sends the payer who has acted. It works before until;
// afterwards it only shows the way back to the merchant.
func (p Pages) Return(org, id ledger.ID, until time.Time) string {
	return p.Base + p.Path(org, id, ReturnEnd, until)
}

func (p Pages) Path(org, id ledger.ID, end string, until time.Time) string {
	return PathOf(id, end, base64.RawURLEncoding.EncodeToString(org[:])+tokenSplit+p.Tokens.Issue(payPurpose, org, id, until))
}

// pathOf is the path of a transaction's page with a token.
func PathOf(id ledger.ID, end, token string) string {
	return Root + "/" + string(web.AppendID(nil, id)) + end + "?" + TokenParam + "=" + token
}

// open finds the organization that a token was issued for. The error is
// errTokenExpired, with the organization, for a token of ours whose time is
// over, and errToken for whatever else.
func (p Pages) Open(id ledger.ID, token string, now time.Time) (org ledger.ID, err error) {
	named, tag, found := strings.Cut(token, tokenSplit)
	if !found || len(named) != orgLength {
		return org, ErrToken
	}
	if n, err := base64.RawURLEncoding.Strict().Decode(org[:], []byte(named)); err != nil || n != len(org) {
		return ledger.ID{}, ErrToken
	}
	switch err := p.Tokens.Check(payPurpose, org, id, tag, now); {
	case errors.Is(err, secret.ErrExpired):
		return org, ErrExpired
	case err != nil:
		return ledger.ID{}, ErrToken
	}
	return org, nil
}
