package contracts

import (
	"errors"
	"html/template"
	"net/url"
	"slices"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"mizan/api/console/apispec"
	"mizan/api/console/form"
	"mizan/api/console/resource"
	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/ledger/contract"
)

// This file has the pages that only the religious reading has: the review, screenings and charity.

// waitingPage is the data for the template that lists the contracts waiting for a review.
type waitingPage struct {
	Rows        []waitingView
	Next, First string
}

// waitingView is a contract that waits for a review.
type waitingView struct {
	Product, Number, Path string
	Status                string
	By                    string // the user who requested the contract; empty if unknown
	At                    string
	Screening             string // path of the contract's screening; empty if it has none
	Why                   string // why the person may not approve the contract; empty if the person may
	Approve, Reject       link
}

// worklist shows the contracts that wait for a review.
func (f *family) worklist(v *visit.Visit) error {
	query := url.Values{}
	for _, name := range []string{"cursor", "env"} {
		if value := v.Query(name); value != "" {
			query.Set(name, value)
		}
	}
	found, next, err := rows(v, f.api("reviews"), query)
	if err != nil {
		return err
	}
	page := waitingPage{}
	if next != "" {
		page.Next = f.path("review") + "?cursor=" + url.QueryEscape(next)
	}
	if query.Has("cursor") {
		page.First = f.path("review")
	}
	for _, record := range found {
		n := slices.IndexFunc(f.kinds, func(k *kind) bool { return k.name == textIn(record, "product_type") })
		if n < 0 {
			continue
		}
		page.Rows = append(page.Rows, f.kinds[n].waiting(v, record))
	}
	areaTexts := textsOf(v)
	return v.Show(templates, "review", visit.PageContent{Title: areaTexts.Page.Review, Crumbs: f.crumbs(v), Page: page})
}

func (k *kind) waiting(v *visit.Visit, record map[string]any) waitingView {
	id, areaTexts := textIn(record, "id"), textsOf(v)
	shown := waitingView{
		Product: labelsOf(v).Record(k.name), Number: textIn(record, "contract_number"), Path: k.path(id), Status: k.status(v, textIn(record, "status")),
		At: textIn(record, "inserted_at"), By: requesterIn(record),
	}
	if screening := textIn(record, "screening_id"); screening != "" {
		shown.Screening = k.screeningPath() + screening
	}
	if r := refusalOf(record["refusal"]); r != nil {
		if shown.Why = areaTexts.Page.DualControl; r.Error != "forbidden" {
			shown.Why = r.Message
		}
	}
	for _, handler := range k.product.RequestHandlers(k.reading) {
		action := k.product.ActionName(k.reading, handler.Name)
		switch handler.Name {
		case contract.Approve:
			shown.Approve = link{areaTexts.action(action), k.path(id, action)}
		case contract.Reject:
			shown.Reject = link{areaTexts.action(action), k.path(id, action)}
		}
	}
	return shown
}

// requesterIn returns the name of the user who requested a contract.
func requesterIn(record map[string]any) string {
	user, _ := record["requested_by"].(map[string]any)
	for _, name := range []string{"name", "login", "id"} {
		if text := textIn(user, name); text != "" {
			return text
		}
	}
	return ""
}

// screeningPage is the data for the template with the form of a screening.
type screeningPage struct {
	View *form.View
	Post form.Post
}

// HTML returns the form. It adds the two hidden fields of each form of the console: the CSRF token and the form key.
func (p screeningPage) HTML(csrf, formKey string) template.HTML {
	p.Post.CSRF, p.Post.FormKey = csrf, formKey
	return p.View.HTML(p.Post)
}

// screen shows the form of a screening, and runs the screening when the form is posted. The form is sent with POST instead of
// GET, because the API stores the screening.
func (f *family) screen(v *visit.Visit) error {
	areaTexts, t := textsOf(v), labelsOf(v)
	o := f.handlers.operation(fiber.MethodGet, f.api("screen"))
	filled := &form.Form{Fields: o.Filters, Texts: t, Context: "screening", Initial: form.ReadInitial(o.Filters, v.Params())}
	show := func(status int, problems *form.Problems) error {
		page := screeningPage{filled.View(v.Form, problems), form.Post{Action: f.path("screening"), Submit: areaTexts.Page.Screen}}
		return v.Show(templates, "screening", visit.PageContent{Status: status, Title: areaTexts.Page.Screening, Crumbs: f.crumbs(v), Page: page})
	}
	if v.Form == nil {
		return show(0, nil)
	}
	object, problems, _ := filled.Parse(v.Form)
	if !problems.None() {
		return show(fiber.StatusUnprocessableEntity, problems)
	}
	query := url.Values{}
	for name, value := range object {
		if text, isText := value.(string); isText {
			query.Set(name, text)
		}
	}
	answer := v.Do(fiber.MethodGet, o.Path+"?"+query.Encode(), nil) // Do sends the idempotency key, so a form sent twice makes one screening
	if answer.Status == fiber.StatusUnprocessableEntity {
		return show(answer.Status, form.RefusedBy(answer.Refusal()))
	}
	if refused := answer.Refusal(); refused != nil {
		return refused
	}
	return v.Redirect(f.screeningPath()+textIn(dataOf(answer.Body), "screening_id"), true)
}

// screenedPage is the data for the template with the result of a screening.
type screenedPage struct {
	ID       string
	Decision template.HTML
	Pairs    []resource.Pair
	Given    []resource.Pair
	Rules    []ruleView
	Links    []link // links to the forms for new contracts, with this screening's id in the address
}

type ruleView struct {
	Code, Detail string
	Outcome      template.HTML
}

// outcomeTones are the colours in which outcomes are shown.
var outcomeTones = map[string]string{"pass": "good", "fail": "bad", "review": "warn"}

// showScreening shows the result of a screening.
func (f *family) showScreening(v *visit.Visit) error {
	id, err := uuid.Parse(v.Parameter("id"))
	if err != nil {
		return notFound()
	}
	o := f.handlers.operation(fiber.MethodGet, f.api("screen/{id}"))
	answer := v.Call(web.InternalRequest{Method: fiber.MethodGet, Path: f.api("screen/" + id.String())})
	if refused := answer.Refusal(); refused != nil {
		return refused
	}
	t, areaTexts, record := labelsOf(v), textsOf(v), dataOf(answer.Body)
	w := resource.NewWriter(t, "screening", nil)
	outcome := func(word string) template.HTML { return tag(outcomeTones[word], t.Word("outcome", word)) }
	page := screenedPage{ID: id.String(), Decision: outcome(textIn(record, "decision"))}
	for _, pair := range w.Pairs(form.Without(o.ResponseFields, "rules", "given", "decision"), record) {
		if apispec.Named(form.Without(o.ResponseFields, "rules", "given", "decision"), pair.Name) != nil {
			page.Pairs = append(page.Pairs, pair)
		}
	}
	given, _ := record["given"].(map[string]any)
	page.Given = w.Pairs(apispec.Named(o.ResponseFields, "given").Fields, given)
	rules, _ := record["rules"].([]any)
	for _, rule := range rules {
		r, _ := rule.(map[string]any)
		page.Rules = append(page.Rules, ruleView{areaTexts.Rules[textIn(r, "code")], textIn(r, "detail"), outcome(textIn(r, "outcome"))})
	}
	for _, k := range f.kinds {
		page.Links = append(page.Links, link{t.Fill(t.List.New, "record", t.Single(k.name)), k.path("new") + "?screening_id=" + id.String()})
	}
	return v.Show(templates, "screened", visit.PageContent{Title: areaTexts.Page.Result, Crumbs: f.crumbs(v, view.Crumb{Title: areaTexts.Page.Screening, Path: f.path("screening")}), Page: page})
}

// charityPage is the data for the template that lists the amounts given to charity.
type charityPage struct {
	Filters, Problems template.HTML
	Totals            []totalView
	Rows              []giftView
	Next, First       string
}

type totalView struct {
	Amount   template.HTML
	Env      string
	Postings string
}

type giftView struct {
	Day, Product, Number, Path, Event string
	Side                              string
	Amount                            template.HTML
	From                              []string
}

// charity shows the amounts given to charity.
func (f *family) charity(v *visit.Visit) error {
	t, query := labelsOf(v), v.Params()
	o := f.handlers.operation(fiber.MethodGet, f.api("charity"))
	requestedQuery, problems := form.FilterQuery(t, o.Filters, query)
	page, status := charityPage{}, 0
	if problems.None() {
		answer := v.Call(web.InternalRequest{Method: fiber.MethodGet, Path: o.Path, Query: requestedQuery})
		found, next, err := resource.ReadRows(answer)
		var refused *web.RefusedError
		switch {
		case errors.As(err, &refused) && refused.Status == fiber.StatusUnprocessableEntity:
			problems = form.RefusedBy(refused)
		case err != nil:
			return err
		default:
			f.addGifts(v, &page, found, form.ReadObject(answer.Body))
			page.Next = nextOf(f.path("charity"), requestedQuery, next)
		}
	}
	if !problems.None() {
		status = fiber.StatusUnprocessableEntity
	}
	if requestedQuery.Has("cursor") {
		page.First = f.path("charity")
	}
	filters := form.NewFilters(t, "charity", f.path("charity"), o.Filters, query, problems)
	page.Filters, page.Problems = filters.HTML(), filters.Problems()
	return v.Show(templates, "charity", visit.PageContent{Status: status, Title: textsOf(v).Page.Charity, Crumbs: f.crumbs(v), Page: page})
}

// nextOf returns the address of the page of a list that begins at the cursor. The address is empty if the cursor is empty.
func nextOf(path string, requestedQuery url.Values, cursor string) string {
	if cursor == "" {
		return ""
	}
	requestedQuery.Set("cursor", cursor)
	return path + "?" + requestedQuery.Encode()
}

func (f *family) addGifts(v *visit.Visit, page *charityPage, found []map[string]any, whole map[string]any) {
	t, frame := labelsOf(v), &view.Frame{T: v.T}
	amountOf := func(record map[string]any) template.HTML {
		asset, _ := record["asset"].(map[string]any)
		return frame.Money(numberIn(record, "amount"), textIn(asset, "currency"), textIn(asset, "network"))
	}
	meta, _ := whole["meta"].(map[string]any)
	totals, _ := meta["totals"].([]any)
	for _, total := range totals {
		record, _ := total.(map[string]any)
		asset, _ := record["asset"].(map[string]any)
		page.Totals = append(page.Totals, totalView{amountOf(record), t.Word("env", textIn(asset, "env")), numberIn(record, "postings")})
	}
	for _, record := range found {
		gift := giftView{Day: textIn(record, "date"), Number: textIn(record, "contract_number"), Amount: amountOf(record), Side: t.Word("side", textIn(record, "side"))}
		for _, k := range f.kinds {
			if k.name == textIn(record, "product_type") {
				gift.Product, gift.Path, gift.Event = t.Record(k.name), k.path(textIn(record, "source")), eventName(v, textIn(record, "event"))
			}
		}
		from, _ := record["from"].([]any)
		for _, account := range from {
			if path, isText := account.(string); isText {
				gift.From = append(gift.From, path)
			}
		}
		page.Rows = append(page.Rows, gift)
	}
}
