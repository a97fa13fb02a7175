package contracts

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	contractactor "mizan/actors/contract"
	"mizan/api/web"
	"mizan/ledger/contract"
	"mizan/ledger/schema"
	"mizan/posting"
)

// Limits of a page of a register. An issue of certificates has a register, which lists the subscriptions and the holders.
const (
	registerLimit    = 50
	maxRegisterLimit = 1_000
)

// listSubscriptions serves GET /pfp/certificate-issues/{id}/subscriptions, which lists the subscriptions to an issue's
// certificates, oldest first.
func (h *Handlers) listSubscriptions(req *web.Request, f *family, product *contract.Product) error {
	return h.writeRegister(req, f, product, nil, func(p *registerPage, view *posting.View) error {
		return contractactor.Subscriptions(view, req.Principal.Org, p.contract.ID, p.after+1, func(subscription contract.Subscription) (bool, error) {
			return p.add(contract.SubscriptionColumns, subscription.Number, subscription.Row()), nil
		})
	})
}

// listHolders serves GET /pfp/certificate-issues/{id}/holders. It returns the positions of all holders in the order of their
// first subscriptions, or only the position of one investor.
func (h *Handlers) listHolders(req *web.Request, f *family, product *contract.Product) error {
	return h.writeRegister(req, f, product, []string{"investor_id"}, func(p *registerPage, view *posting.View) error {
		if who, sent := p.query.ID("investor_id"); sent {
			holder, found, err := contractactor.Position(view, req.Principal.Org, p.contract.ID, who)
			if found && holder.Number > p.after {
				p.add(contract.HolderColumns, holder.Number, holder.Row())
			}
			return err
		}
		return contractactor.Holders(view, req.Principal.Org, p.contract.ID, p.after+1, func(holder contract.Holder) (bool, error) {
			return p.add(contract.HolderColumns, holder.Number, holder.Row()), nil
		})
	})
}

// registerPage collects the rows of one page of a register.
type registerPage struct {
	*web.List
	contract *contract.Record
	query    *web.Query
	style    schema.Style
	after    int64 // number of the last row of the previous page
	limit    int
	last     int64 // number of the last row of this page
	more     bool  // more rows follow
}

// add adds a row. If the page is full, add returns false.
func (p *registerPage) add(t *schema.Table, number int64, row schema.Row) bool {
	if p.Rows == p.limit {
		p.more = true
		return false
	}
	p.BeginRow()
	p.Integer("number", number)
	p.Buf = t.AppendRow(p.Buf, row, p.style)
	p.Close('}')
	p.last = number
	return true
}

// writeRegister responds with a page of a contract's register. The function read finds the rows and adds them to the page. If
// the product has no register, the error is NotFound.
func (h *Handlers) writeRegister(req *web.Request, f *family, product *contract.Product, filters []string, read func(*registerPage, *posting.View) error) error {
	if product.RegisterQuery == nil {
		return web.NotFound()
	}
	result, err := h.contractAt(req, f, product)
	if err != nil {
		return err
	}
	q := web.QueryOf(req.RequestCtx, append(filters, "limit", "cursor")...)
	p := &registerPage{List: web.NewList(), contract: result.Record, query: q, style: f.reading.ResponseStyle, after: int64(min(q.SeqCursor(), 1<<62)), limit: q.LimitUpTo(registerLimit, maxRegisterLimit)}
	for _, name := range filters {
		q.ID(name)
	}
	if err := q.Problems.Err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	if err := read(p, view); err != nil {
		return err
	}
	next := ""
	if p.more {
		next = strconv.FormatInt(p.last, 10)
	}
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, p.Finish("number", next))
	return nil
}
