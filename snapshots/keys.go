package snapshots

import (
	"strconv"
	"strings"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/money"
)

// usedKey is a claim on an idempotency key that names what is not in its own
// organization.
type usedKey struct {
	org  ledger.ID
	made ledger.Source
}

// keyOwner reads the owner of a claim on an idempotency key: the hash of the
// request, the kind and the id of what it made or moved, and what an answer needs
// besides.
func keyOwner(owner []byte) (s ledger.Source, ok bool) {
	const hash, head = 32, 32 + 1 + 16
	if len(owner) < head {
		return s, false
	}
	return ledger.Source{Kind: ledger.Kind(owner[hash]), ID: ledger.ID(owner[hash+1 : head])}, true
}

// keyUsed checks that a claim on an idempotency key names something that exists
// and, where it is a partner's key for a transaction, that partner's.
func (c *checker) keyUsed(o *organization, key string, owner []byte) {
	made, ok := keyOwner(owner)
	scope, text, scoped := cutScope(key)
	if !ok || !scoped || text == "" {
		c.report.breach(ruleClaims, "organization %v: a claim (%c) of an unknown form", o.id, ledger.ClaimIdempotency)
		return
	}
	h := o.histories.find(made)
	if h == nil || h.marks&stored == 0 {
		c.keys = append(c.keys, usedKey{o.id, made})
		return
	}
	if made.Kind != ledger.Transaction || scope == 0 {
		return
	}
	if h.list != o.histories.listOf(scope, money.Prod) && h.list != o.histories.listOf(scope, money.Test) {
		c.report.breach(ruleClaims, "organization %v: a key of partner %d was used for %s, which is another's", o.id, scope, named(made))
	}
}

// cutScope takes a key apart: whose it is, the administration's being 0, and
// what was sent.
func cutScope(key string) (partner int64, text string, ok bool) {
	if text, ok = strings.CutPrefix(key, actors.KeyOfAdmin+"/"); ok {
		return 0, text, true
	}
	rest, ok := strings.CutPrefix(key, "partner/")
	if !ok {
		return 0, "", false
	}
	digits, text, ok := strings.Cut(rest, "/")
	partner, err := strconv.ParseInt(digits, 10, 64)
	return partner, text, ok && err == nil && partner > 0
}

// checkKeys looks again for what keys name beyond their organization: one that
// made an organization names what lies in that.
func (c *checker) checkKeys() error {
	for _, k := range c.keys {
		if made := c.organizations[k.made.ID]; k.made.Kind == ledger.Organization && made != nil {
			if h := made.histories.find(k.made); h != nil && h.marks&stored != 0 {
				continue
			}
		}
		c.report.breach(ruleClaims, "organization %v: a claim (%c) names %s, which is not there", k.org, ledger.ClaimIdempotency, named(k.made))
	}
	return nil
}
