package api

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	contractactor "mizan/actors/contract"
	"mizan/ledger/contract"
	"mizan/ledger/schema"
	"mizan/posting"
)

// Bounds of a page of a register of holders.
const (
	registerLimit    = 50
	maxRegisterLimit = 1_000
)

// contractSubscriptions is GET /pfp/certificate-issues/{id}/subscriptions: the
// applications for an issue's certificates, oldest first.
func (s *Server) contractSubscriptions(c *call, f *family, product *contract.Product) error {
	return s.writeRegister(c, f, product, nil, func(p *registerPage, view *posting.View) error {
		return contractactor.Subscriptions(view, c.who.Org, p.of.ID, p.after+1, func(one contract.Subscription) (bool, error) {
			return p.add(contract.SubscriptionColumns, one.Number, one.Row()), nil
		})
	})
}

// contractHolders is GET /pfp/certificate-issues/{id}/holders: everybody's position, in
// the order of first subscriptions, or that of one investor.
func (s *Server) contractHolders(c *call, f *family, product *contract.Product) error {
	return s.writeRegister(c, f, product, []string{"investor_id"}, func(p *registerPage, view *posting.View) error {
		if who, sent := p.query.id("investor_id"); sent {
			h, found, err := contractactor.Position(view, c.who.Org, p.of.ID, who)
			if found && h.Number > p.after {
				p.add(contract.HolderColumns, h.Number, h.Row())
			}
			return err
		}
		return contractactor.Holders(view, c.who.Org, p.of.ID, p.after+1, func(h contract.Holder) (bool, error) {
			return p.add(contract.HolderColumns, h.Number, h.Row()), nil
		})
	})
}

// registerPage is a page of a register under way.
type registerPage struct {
	*list
	of    *contract.Record
	query *query
	style style
	after int64 // the number of the last row of the page before
	limit int
	last  int64 // of the last row of this page
	more  bool  // rows follow it
}

// add adds a row; false: the page is full.
func (p *registerPage) add(t *schema.Table, number int64, row schema.Row) bool {
	if p.rows == p.limit {
		p.more = true
		return false
	}
	p.row()
	p.integer("number", number)
	p.style.appendRow(&p.encoder, t, row)
	p.close('}')
	p.last = number
	return true
}

// writeRegister answers with a page of what read finds in a contract's register. Products
// without one have no such address.
func (s *Server) writeRegister(c *call, f *family, product *contract.Product, filters []string, read func(*registerPage, *posting.View) error) error {
	if product.Reads == nil {
		return notFound()
	}
	result, err := s.contractAt(c, f, product)
	if err != nil {
		return err
	}
	q := queryOf(c.RequestCtx, append(filters, "limit", "cursor")...)
	p := &registerPage{list: newList(), of: result.Record, query: q, style: f.style, after: int64(min(q.seq(), 1<<62)), limit: q.upToLimit(registerLimit, maxRegisterLimit)}
	for _, name := range filters {
		q.id(name)
	}
	if err := q.problems.err(); err != nil {
		return err
	}
	view := s.cfg.Journal.View()
	defer view.Close()
	if err := read(p, view); err != nil {
		return err
	}
	next := ""
	if p.more {
		next = strconv.FormatInt(p.last, 10)
	}
	writeJSON(c.RequestCtx, fiber.StatusOK, p.finish("number", next))
	return nil
}
