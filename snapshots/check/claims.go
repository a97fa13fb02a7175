package check

import (
	"encoding/binary"
	"strconv"

	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
)

// owners are the kinds of records that claims of a kind may name, in the
// claim's own organization.
var owners = map[ledger.ClaimKind][]ledger.Kind{
	ledger.ClaimTxID:       {ledger.Transaction},
	ledger.ClaimLogin:      {ledger.Partner, ledger.User},
	ledger.ClaimSettlement: {ledger.Settlement},
	ledger.ClaimKeyHash:    {ledger.APIKey, ledger.Session},
}

// claims checks that every claim names one existing thing that has the key, and
// that every thing with a key has its claim.
func (c *orgCheck) claims() error {
	o := c.organization
	const head = 1 + 16
	err := c.rows(o, posting.Claims, func(key, row []byte) error {
		c.report.Counts.Claims++
		c.report.count(ruleClaims, 1)
		if len(key) <= head+1 {
			c.report.breach(ruleClaims, "organization %v: a claim without a key", o.id)
			return nil
		}
		c.claimStored(key, row)
		c.claim(ledger.ClaimKind(key[head]), string(key[head+1:]), row)
		return nil
	})
	if err != nil {
		return err
	}
	for source, at := range o.histories.index {
		h := o.histories.slab.at(at)
		if h.claims != 0 && h.marks&claimed == 0 {
			c.report.breach(ruleClaims, "organization %v: %s has a key (%c) and no claim on it", o.id, named(source), h.claims)
		}
	}
	return nil
}

func (c *orgCheck) claim(kind ledger.ClaimKind, key string, owner []byte) {
	o := c.organization
	if kind == ledger.ClaimIdempotency {
		c.keyUsed(key, owner)
		return
	}
	if len(owner) != len(ledger.ID{}) {
		c.report.breach(ruleClaims, "organization %v: a claim (%c) that names nothing", o.id, kind)
		return
	}
	id := ledger.ID(owner)
	if kind == ledger.ClaimNumber && o.id == words.PlatformOrg {
		c.directory.claimed[key] = id
		return
	}
	hash := o.histories.hash(byte(kind), key)
	for _, k := range owners[kind] {
		h := o.histories.find(ledger.Source{Kind: k, ID: id})
		if h == nil || h.marks&stored == 0 {
			continue
		}
		if h.claims != kind || h.claim != hash {
			c.report.breach(ruleClaims, "organization %v: a claim (%c) names %s, which has another key", o.id, kind, named(ledger.Source{Kind: k, ID: id}))
			return
		}
		h.marks |= claimed
		return
	}
	c.report.breach(ruleClaims, "organization %v: a claim (%c) names %v, which is not there", o.id, kind, id)
}

// checkNumbers compares the platform's claims on partner numbers with the
// partners of all organizations.
func (c *checker) checkNumbers() error {
	for number, id := range c.directory.numbers {
		text := strconv.FormatInt(number, 10)
		if owner, found := c.directory.claimed[text]; !found || owner != id {
			c.report.breach(ruleClaims, "partner %v has number %d and no claim on it", id, number)
		}
		delete(c.directory.claimed, text)
	}
	for _, id := range c.directory.claimed {
		c.report.breach(ruleClaims, "a claim on a partner number names %v, which has it not", id)
	}
	return nil
}

// lists checks that the lists of transactions show every transaction of a partner,
// at its creation and at its last event, and nobody else's; and that those of
// settlements, of subscriptions and of contracts show each once.
func (c *orgCheck) lists() error {
	o := c.organization
	var order sequence
	err := c.rows(o, posting.Lists, func(key, row []byte) error {
		prefix := key[:max(0, len(key)-8)]
		c.books.dropPaged(prefix, row)
		listed := c.list(&order, prefix, row)
		if len(listed) > 0 && ledger.Micros(binary.BigEndian.Uint64(key[len(prefix):])) != listed[0].Booked {
			c.report.breach(ruleClaims, "organization %v: a list lies at another time than its first row", o.id)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.view.Gathered(o.id, func(prefix, rows []byte) error {
		if _, ok := store.ParsePagePrefix(prefix); !ok {
			c.list(&order, prefix, rows)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for source, at := range o.histories.index {
		h := o.histories.slab.at(at)
		shown := source.Kind == ledger.Transaction || source.Kind == ledger.Settlement && h.list != 0
		rows := listedNew | listedLast
		if source.Kind == ledger.Subscription {
			shown, rows = true, listedNew // it is listed as it was created, and never again
		}
		if source.Kind == ledger.Contract {
			shown, rows = true, listedNew
			if h.marks&stored != 0 && c.contracts.lifeOf(h).people != 0 {
				c.report.breach(ruleClaims, "organization %v: %s is not once in the lists of its environment and of each who has a part in it, and in no other", o.id, named(source))
			}
		}
		if shown && h.marks&stored != 0 && h.marks&rows != rows {
			c.report.breach(ruleClaims, "organization %v: %s is not listed", o.id, named(source))
		}
	}
	return nil
}

// list checks rows of the list whose keys begin with the prefix, and returns them.
func (c *orgCheck) list(order *sequence, prefix, row []byte) []store.Listed {
	o := c.organization
	listed, err := store.DecodeListed(row)
	partner, env, ok := store.ParseListPrefix(prefix)
	if err != nil || !ok || len(listed) == 0 {
		c.report.breach(ruleClaims, "organization %v: a list of an unknown form", o.id)
		return nil
	}
	if !order.follows(prefix, listed) {
		c.report.breach(ruleClaims, "organization %v: %s is out of the order of booking", o.id, whose(prefix))
	}
	if env == listOfPerson {
		c.contracts.listedPeople(partner, listed)
		return listed
	}
	list := o.histories.listOf(partner, money.Env(env))
	for i := range listed {
		c.listed(kindListed(env), list, &listed[i])
	}
	return listed
}

func (c *orgCheck) listed(kind ledger.Kind, list uint32, row *store.Listed) {
	o := c.organization
	source := ledger.Source{Kind: kind, ID: row.ID}
	h := o.histories.find(source)
	switch {
	case h == nil || h.marks&stored == 0:
		c.report.breach(ruleClaims, "organization %v: a list shows %s, which is not there", o.id, named(source))
		return
	case h.list != list:
		c.report.breach(ruleClaims, "organization %v: %s is listed where it does not belong", o.id, named(source))
	case row.First && h.marks&listedNew != 0, kind != ledger.Transaction && !row.First:
		c.report.breach(ruleClaims, "organization %v: %s is listed twice", o.id, named(source))
	}
	if row.First {
		h.marks |= listedNew
	}
	if row.Booked == h.updated {
		h.marks |= listedLast
	}
}
