package stripe

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85/webhook"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// maxSignatureAge is how much the time in a signature may differ from this machine's time. It is real time, because Stripe's
// servers sign with theirs.
const maxSignatureAge = 5 * time.Minute

// maxSignature bounds the length of the signature header in bytes; during a rotation of the secret it has two signatures.
const maxSignature = 4 << 10

// ReadNotification implements actors.NotificationReader: it verifies an event of Stripe, and returns the references of the charges
// that the event is about. Nothing else in the event is used.
func (p *Provider) ReadNotification(ctx context.Context, terminal *directory.Terminal, n *actors.Notification) (actors.News, error) {
	const op = "stripe.ReadNotification"
	connection := connectionOf(terminal)
	if connection.WebhookSecret == "" || len(n.Signature) > maxSignature || !isFresh(n.Signature) ||
		webhook.ValidatePayloadWithTolerance(n.Body, n.Signature, connection.WebhookSecret, maxSignatureAge) != nil {
		return actors.News{}, ledger.Refuse(op, ledger.Unauthorized, "Stripe has not signed it")
	}
	var e struct {
		ID   string `json:"id"`
		Type string `json:"type"`
		Data struct {
			Object json.RawMessage `json:"object"`
		} `json:"data"`
	}
	if err := json.Unmarshal(n.Body, &e); err != nil || !isID(e.ID, "evt_") {
		return actors.News{}, ledger.Refuse(op, ledger.Invalid, "the body is no event of Stripe")
	}
	var o eventObject
	if json.Unmarshal(e.Data.Object, &o) != nil {
		return actors.News{ID: e.ID}, nil // an object that is not about a charge may have members of other types
	}
	metadata := o.Metadata
	if !strings.HasPrefix(e.Type, intentEvents) && !strings.HasPrefix(e.Type, "payout.") {
		if !isID(o.Intent, "pi_") {
			return actors.News{ID: e.ID}, nil
		}
		in, f := readIntent(ctx, p.client(accountOf(connection)), o.Intent)
		switch {
		case f != nil && f.isAbsent():
			return actors.News{ID: e.ID}, nil
		case f != nil:
			return actors.News{}, ledger.Refuse(op, ledger.Unavailable, "Stripe was not asked about the charge")
		}
		metadata = in.Metadata
	}
	reference, ok := parseReference(metadata, metaReference)
	if !ok || metadata[metaTerminal] != terminal.ID.String() {
		return actors.News{ID: e.ID}, nil
	}
	return actors.News{ID: e.ID, References: []ledger.ID{reference}}, nil
}

// isFresh tells whether the time in a signature header (t=SECONDS) is near the present. The library refuses only old signatures.
func isFresh(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		if text, ok := strings.CutPrefix(strings.TrimSpace(part), "t="); ok {
			seconds, err := strconv.ParseInt(text, 10, 64)
			return err == nil && time.Since(time.Unix(seconds, 0)).Abs() <= maxSignatureAge
		}
	}
	return false
}
