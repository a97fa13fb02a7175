package utp

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// transaction contains those fields of the other platform's transaction that the adapter uses.
type transaction struct {
	id, txid, kind, status string
	reason                 string // error_description
	code                   string // error_code; empty if the platform does not show one
	rrn                    string // empty if the platform does not show it
	amount                 string // minor units
	currency               string
	capturedAmount         *money.Amount // only some platforms have this field; nil if absent
	refundedAmount         *money.Amount // only some platforms have this field; nil if absent
	refundID, refundMsg    string
	finishedAt             time.Time       // zero if absent or in an unknown form
	terminalID             string          // our terminal's id, which we sent in merchant_meta; empty if absent
	pageURL                string          // simple_auth_redirect_url
	authAction             *payment.Action // auth_params; nil if absent, or if our page cannot carry them out
	material               json.RawMessage // additional_params_for_auth; nil if the payer need not submit anything
	requiredMembers        []string        // names of the members that the payer's submission must contain
	expiresAt              time.Time       // when the payer's action expires; zero if absent
	destinations           []payment.Destination
}

// Bounds of accepted values.
const (
	maxID           = 64 // bytes
	maxDestinations = 32
)

// readTransaction parses a transaction. It does not look at fields that the adapter does not use.
func readTransaction(text []byte) (*transaction, error) {
	o, err := readObject(text)
	if err != nil {
		return nil, err
	}
	f := &fields{object: o}
	tx := &transaction{
		id: f.text("id"), txid: f.text("txid"), kind: f.text("type"), status: f.text("status"), reason: f.text("error_description"),
		amount: f.text("amount"), currency: f.text("currency"), refundID: f.text("refund_id"), refundMsg: f.text("refund_msg"),
	}
	if f.err != nil {
		return nil, f.err
	}
	if tx.status == "" || !isIdentifier(tx.id) {
		return nil, errShape
	}
	optional := &fields{object: o} // these fields may be absent or have another form
	tx.code = optional.text("error_code")
	tx.rrn, tx.pageURL = optional.text("rrn"), webAddress(optional.text("simple_auth_redirect_url"))
	tx.capturedAmount, tx.refundedAmount = amountIn(optional, "captured_amount"), amountIn(optional, "refunded_amount")
	tx.finishedAt = parseTime(optional.text("finished"))
	meta := fields{object: optional.member("merchant_meta")}
	tx.terminalID = meta.text(metaTerminal)
	tx.readAction(optional)
	return tx, nil
}

// isIdentifier tells whether a text can be an id that is safe in a URL. The URL paths of our requests contain
// ids, and no platform uses ids of another form.
func isIdentifier(text string) bool {
	return text != "" && len(text) <= maxID && !strings.ContainsFunc(text, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	})
}

// webAddress returns the text if a payer's browser can open it as a web address. Otherwise it returns the empty string.
func webAddress(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return ""
	}
	return text
}

func amountIn(f *fields, name string) *money.Amount {
	amount, err := money.Parse(f.text(name))
	if err != nil {
		return nil
	}
	return &amount
}

// readAction reads the fields that describe what the payer has to do.
func (tx *transaction) readAction(f *fields) {
	const expiryName = "expires_at"
	if material := f.member("additional_params_for_auth"); len(material) > 0 {
		tx.material, tx.requiredMembers = f.raw("additional_params_for_auth"), requiredMembersOf(material)
		tx.expiresAt = parseTime((&fields{object: material}).text(expiryName))
	}
	if at := parseTime(f.text(expiryName)); !at.IsZero() {
		tx.expiresAt = at
	}
	for _, raw := range f.list("availble_destinations") {
		o, err := readObject(raw)
		d := fields{object: o}
		id, name := d.text("target_bank_id"), d.text("name")
		if err == nil && d.err == nil && id != "" && len(tx.destinations) < maxDestinations {
			tx.destinations = append(tx.destinations, payment.Destination{ID: id, Name: name})
		}
	}
	if o := f.member("auth_params"); o != nil {
		a := fields{object: o}
		auth := &payment.Action{Type: a.text("type"), Method: a.text("method"), URL: webAddress(a.text("url"))}
		params := make(map[string]string)
		for name, raw := range a.member("params") {
			var value string
			if json.Unmarshal(raw, &value) != nil {
				continue // the protocol allows only strings as parameters
			}
			params[name] = value
		}
		auth.Params = payment.ActionParams(params)
		if a.err == nil && pageCanFollow(auth) {
			tx.authAction = auth
		}
	}
}

// requiredMembersOf returns the names of the members that a payer must submit as the answer to the material. It
// knows the two kinds of material that every platform uses: a one-time password, and a payload to be signed. For
// any other kind it returns nil, because only the other platform knows what must be submitted.
func requiredMembersOf(material object) []string {
	f := fields{object: material}
	switch {
	case f.text("type") == "otp":
		return []string{"otp"}
	case f.text("payload") != "":
		return []string{"signature"}
	}
	return nil
}

// pageCanFollow tells whether our payer page can carry out the action that auth_params describe.
func pageCanFollow(a *payment.Action) bool {
	switch a.Type {
	case "none":
		return true
	case "redirect", "auth_3ds_form":
		return a.URL != "" && (a.Method == "get" || a.Method == "post")
	}
	return false
}

// checkCreated checks that the transaction, which is the response to the request to create the charge, is the one
// that the call asked for.
func (tx *transaction) checkCreated(call *actors.Call) error {
	amount, err := money.Parse(tx.amount)
	switch {
	case tx.txid != call.Reference.String():
		return errors.New("it is about another transaction")
	case tx.kind != kindOf(call.Operation):
		return errors.New("it has another type than was asked for")
	case err != nil || amount != call.Amount || tx.currency != string(call.Asset.Currency):
		return errors.New("it has another amount than was asked for")
	}
	return nil
}

func kindOf(o actors.Operation) string {
	if o == actors.PayOut {
		return "payout"
	}
	return "payment"
}

// Statuses of a transaction that the adapter distinguishes. All other statuses count as pending.
const (
	statusCharged     = "charged"
	statusRejected    = "rejected"
	statusFailed      = "failed"
	statusReversed    = "reversed"
	statusRefunding   = "refunding"
	statusRefunded    = "refunded"
	statusAction      = "action_required"
	statusPaymentHeld = "payment_suspended"
	statusPayoutHeld  = "payout_suspended"
)

// hasSettled tells whether money has moved, even if it was returned later.
func (tx *transaction) hasSettled() bool {
	return slices.Contains([]string{statusCharged, statusRefunding, statusRefunded, statusReversed}, tx.status)
}

// endedUnpaid tells whether the transaction has ended without moving money.
func (tx *transaction) endedUnpaid() bool {
	return tx.status == statusRejected || tx.status == statusFailed
}

func (tx *transaction) isHeld() bool {
	return tx.status == statusPaymentHeld || tx.status == statusPayoutHeld
}

// succeeded tells whether the response has a success status.
func (r *reply) succeeded() bool { return r.status >= 200 && r.status < 300 }

// answered tells whether a complete response came, with any status.
func (r *reply) answered() bool { return r.status != 0 }

// credentialsRefused tells whether the platform refuses our credentials.
func (r *reply) credentialsRefused() bool {
	return r.status == http.StatusUnauthorized || r.status == http.StatusForbidden
}

// definitelyRefused tells whether the platform has received the request and has certainly not carried it out.
// The status Conflict does not count, because an earlier copy of the same request may still be in progress.
func (r *reply) definitelyRefused() bool {
	switch r.status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

func (r *reply) transaction() (*transaction, error) { return readTransaction(r.body) }

// code returns the code in an error response, which may have any of the protocol's three forms. If the code
// is not a plain word, it returns the empty string, because texts for people must not be logged.
func (r *reply) code() string {
	o, err := readObject(r.body)
	if err != nil || r.succeeded() {
		return ""
	}
	f := fields{object: o}
	code := f.text("error")
	if list := f.list("errors"); len(list) > 0 {
		firstError, _ := readObject(list[0])
		code = (&fields{object: firstError}).text("code")
	}
	if !isIdentifier(code) {
		return ""
	}
	return code
}

// Keys of merchant_meta. The first two are in the merchant_meta of our transaction, which our responses show. The
// third is in the merchant_meta that we send to the other platform.
const (
	metaID       = "utp_id"        // the other platform's id of the charge
	metaRefund   = "utp_refund_id" // the other platform's id of the last finished refund
	metaTerminal = "utp_terminal"  // our terminal's id
)

// storedIDs returns the ids in meta, which idsToStore wrote after an earlier response. They are empty if nothing was stored.
func storedIDs(meta []byte) (chargeID, refundID string) {
	o, err := readObject(meta)
	f := fields{object: o}
	if chargeID, refundID = f.text(metaID), f.text(metaRefund); err != nil || !isIdentifier(chargeID) {
		return "", ""
	}
	return chargeID, refundID
}

// idsToStore returns the ids of the charge and of its last finished refund, as JSON.
func (tx *transaction) idsToStore(lastRefundID string) []byte {
	members := map[string]string{metaID: tx.id}
	if isIdentifier(lastRefundID) {
		members[metaRefund] = lastRefundID
	}
	text, _ := json.Marshal(members) // cannot fail with these values
	return text
}

// ourReference returns the id of our transaction for which the other platform's transaction was created. It returns
// false if there is no such transaction of ours.
func (tx *transaction) ourReference() (id ledger.ID, isOurs bool) {
	if len(tx.txid) != len(id.String()) || id.UnmarshalText([]byte(tx.txid)) != nil {
		return ledger.ID{}, false
	}
	return id, true
}
