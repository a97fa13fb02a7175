package description

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mizan/api/description/spec"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Caller is a kind of caller that may call an operation.
type Caller struct {
	Kind  CallerKind
	Roles []string // if the caller has a session, the session needs one of these roles
}

// CallerKind is the kind of credential that a caller has.
type CallerKind uint8

// The kinds of credentials.
const (
	PartnerKey CallerKind = iota + 1
	AdminToken
	SessionToken
)

// DescribedOperation is an operation together with the properties that follow from its route.
type DescribedOperation struct {
	*spec.Operation
	Callers    []Caller // empty if anybody may call the operation
	NeedsOrg   bool     // all callers except the operator must name their organization
	IsKeyed    bool     // the operation accepts an Idempotency-Key
	Parameters []spec.Parameter
	Responses  []Response // one for each status, sorted by status
}

// Response describes the responses of an operation that have the same status.
type Response struct {
	spec.Answer
	Refusals []spec.Refusal // nil if no refusal has this status
	Success  []spec.Answer  // if there are Refusals: the answers that the operation declares for the same status
}

// IsRefusal tells whether the response may say that the request was not carried out.
func (r *Response) IsRefusal() bool { return len(r.Refusals) > 0 }

// describe returns an operation together with the properties that it derives from the operation's route.
func describe(o *spec.Operation, route *web.Route) DescribedOperation {
	d := DescribedOperation{Operation: o, Callers: callersOf(&route.Access), NeedsOrg: !route.SoleOrganization}
	isOpen := route.Access.Callers == web.Anyone
	d.IsKeyed = route.Command && !isOpen && !route.EndsSession && !route.Repeatable
	d.Parameters = slices.Clone(o.Parameters)
	if d.admits(AdminToken) && !o.PlatformWide {
		d.Parameters = append(d.Parameters, organizationParameter)
	} else if route.SoleOrganization {
		d.Parameters = append(d.Parameters, soleOrganizationParameter)
	}
	if d.IsKeyed {
		d.Parameters = append(d.Parameters, keyParameter)
	}
	for _, answer := range o.Answers {
		answer.Headers = append(slices.Clone(answer.Headers), requestIDHeader)
		declaresReplay := slices.ContainsFunc(answer.Headers, func(h spec.Header) bool { return h.Name == replayHeader.Name })
		if d.IsKeyed && answer.Status < 300 && !declaresReplay {
			answer.Headers = append(answer.Headers, replayHeader)
		}
		d.Responses = append(d.Responses, Response{Answer: answer})
	}
	for _, refusal := range d.refusals(route) {
		d.addRefusal(refusal)
	}
	slices.SortStableFunc(d.Responses, func(a, b Response) int { return a.Status - b.Status })
	for i := range d.Responses {
		if d.Responses[i].IsRefusal() {
			d.completeRefusal(&d.Responses[i])
		}
	}
	return d
}

// callersOf returns the kinds of callers whom a route admits.
func callersOf(access *web.Access) (callers []Caller) {
	admits := func(kind web.Callers) bool { return access.Callers&kind != 0 }
	if admits(web.PartnerKey) {
		callers = append(callers, Caller{Kind: PartnerKey})
	}
	var roles []string
	if admits(web.Session) {
		roles = directory.Roles(access.Roles).Strings()
	}
	if admits(web.PartnerSession) && !slices.Contains(roles, string(directory.PartnerRole)) {
		roles = append(roles, string(directory.PartnerRole))
	}
	if len(roles) > 0 {
		callers = append(callers, Caller{SessionToken, roles})
	}
	if admits(web.AdminToken) {
		callers = append(callers, Caller{Kind: AdminToken})
	}
	return callers
}

func (d *DescribedOperation) admits(kind CallerKind) bool {
	return slices.ContainsFunc(d.Callers, func(c Caller) bool { return c.Kind == kind })
}

// Parameters that package description adds to an operation because of its route.
var (
	organizationParameter = spec.InHeader("x-organization-id", spec.UUID(),
		"The organization that the operator means. It may be absent if there is only one. Partners and sessions always send the header.")

	soleOrganizationParameter = spec.InHeader("x-organization-id", spec.UUID(), "The organization of the session. It may be absent if there is only one.")

	keyParameter = spec.InHeader("Idempotency-Key", &spec.Schema{Types: []string{"string"}, MinLength: 1, MaxLength: 255},
		"1 to 255 printable characters of your choice. The same request with the same key is carried out once and gets the first response again; a different request with the key gets 409.")
)

// Headers that package description adds to an operation because of its route.
var (
	requestIDHeader = spec.Header{Name: "x-request-id", Schema: spec.UUID(), Text: "The request's id, which the server's log has too.", Required: true}
	replayHeader    = spec.Header{Name: "x-idempotent-replay", Schema: spec.Words("true"),
		Text: "Sent if this is the response to an earlier request with the same key."}
	retryHeader = spec.Header{Name: "retry-after", Schema: spec.Integer(0), Text: "After how many seconds to repeat the request."}
)

// refusals returns the refusals of the operation: first the declared refusals, then those that follow from the route.
func (d *DescribedOperation) refusals(route *web.Route) []spec.Refusal {
	list := slices.Clone(d.Operation.Refusals)
	add := func(codes ...ledger.Code) {
		for _, code := range codes {
			list = append(list, spec.Refusal{Code: code})
		}
	}
	add(web.BadRequest, web.RequestTimeout, web.PayloadTooLarge, web.UnsupportedMediaType, web.HeadersTooLarge, ledger.Internal, ledger.Unavailable)
	if len(d.Callers) > 0 {
		add(ledger.Unauthorized, ledger.Forbidden)
	} else {
		list = append(list, spec.Refusal{Code: ledger.Forbidden, When: withoutTLS})
	}
	isLimited := d.admits(PartnerKey) || slices.ContainsFunc(d.Callers, func(c Caller) bool { return slices.Contains(c.Roles, string(directory.PartnerRole)) })
	if isLimited {
		add(web.RateLimited)
	}
	if d.admits(AdminToken) && !d.PlatformWide {
		list = append(list, spec.Refusal{Code: ledger.NotFound, When: "the organization in `x-organization-id` does not exist"},
			spec.Refusal{Code: ledger.Invalid, When: "`x-organization-id` is no UUID, is sent twice, or is absent although there are several organizations"})
	}
	if d.IsKeyed {
		list = append(list, spec.Refusal{Code: ledger.Conflict, When: "the Idempotency-Key was used for another request"},
			spec.Refusal{Code: ledger.Invalid, When: "the Idempotency-Key is empty, too long, not printable or sent twice"})
	}
	if route.Method == fiber.MethodGet && slices.ContainsFunc(d.Operation.Parameters, func(p spec.Parameter) bool { return p.In == "query" }) {
		list = append(list, spec.Refusal{Code: ledger.Invalid, When: "a parameter is unknown, is sent twice, or has a value that is not allowed"})
	}
	return list
}

// withoutTLS is the text for a refusal that any caller can get.
const withoutTLS = "the request came without TLS, and the server asks for it"

// addRefusal adds a refusal to the response that has the refusal's status.
func (d *DescribedOperation) addRefusal(refusal spec.Refusal) {
	form, _ := web.ErrorFormOf(refusal.Code)
	i := slices.IndexFunc(d.Responses, func(r Response) bool { return r.Status == form.Status })
	if i < 0 {
		d.Responses = append(d.Responses, Response{Answer: spec.Answer{Status: form.Status}})
		i = len(d.Responses) - 1
	}
	r := &d.Responses[i]
	if len(r.Refusals) == 0 && (r.Text != "" || r.Media != "" || r.Schema != nil) {
		r.Success = []spec.Answer{r.Answer}
	}
	if !slices.Contains(r.Refusals, refusal) {
		r.Refusals = append(r.Refusals, refusal)
	}
}

// completeRefusal sets the text, the body and the headers of a response according to its refusals.
func (d *DescribedOperation) completeRefusal(r *Response) {
	var lines []string
	var forms []*spec.Schema
	for _, refusal := range r.Refusals {
		form, _ := web.ErrorFormOf(refusal.Code)
		lines = append(lines, "- "+codeText(refusal.Code, form)+Sentence(&refusal))
		s := d.schemaOf(form)
		if !slices.ContainsFunc(forms, func(other *spec.Schema) bool { return other.Ref == s.Ref }) {
			forms = append(forms, s)
		}
		if form.RetryAfter && !slices.ContainsFunc(r.Headers, func(h spec.Header) bool { return h.Name == retryHeader.Name }) {
			r.Headers = append(r.Headers, retryHeader)
		}
	}
	if len(lines) == 1 && len(r.Success) == 0 {
		lines[0] = strings.TrimPrefix(lines[0], "- ")
	}
	for _, answer := range r.Success {
		lines = append([]string{"- " + answer.Text}, lines...)
		if answer.Schema != nil {
			forms = append([]*spec.Schema{answer.Schema}, forms...)
		}
	}
	r.Text = strings.Join(lines, "\n")
	if !slices.ContainsFunc(r.Headers, func(h spec.Header) bool { return h.Name == requestIDHeader.Name }) {
		r.Headers = append(r.Headers, requestIDHeader)
	}
	switch {
	case d.RefusalForm == spec.AsPage: // JSON is the response if a request is refused before its route is known
		r.Media, r.OtherMedia = spec.PageMedia, []string{fiber.MIMEApplicationJSON}
	case len(forms) == 1:
		r.Schema = forms[0]
	default:
		r.Schema = spec.AnyOf(forms...)
	}
}

func codeText(code ledger.Code, form web.ErrorForm) string {
	name := form.Name
	if name == "" {
		name = string(code)
	}
	return "`" + name + "`: "
}

// Sentence returns a Markdown text that says when a request gets the refusal.
func Sentence(r *spec.Refusal) string {
	if r.When != "" {
		return r.When
	}
	return UsualRefusals[r.Code].When
}

// Names of the components that describe the bodies of refusals.
const (
	refusalComponent  = "Refusal"      // {error, message}
	problemsComponent = "Problems"     // {errors: [...]}
	faultsComponent   = "Faults"       // {error, details}
	nameComponent     = "RefusalName"  // {error}
	unauthorizedName  = "Unauthorized" // {error: "unauthorized"}
)

func (d *DescribedOperation) schemaOf(form web.ErrorForm) *spec.Schema {
	switch {
	case d.RefusalForm == spec.WithDetails && form.Status == fiber.StatusUnprocessableEntity:
		return spec.Ref(faultsComponent)
	case form.Name == "":
		return spec.Ref(problemsComponent)
	case form.HasMessage:
		return spec.Ref(refusalComponent)
	case form.Status == fiber.StatusUnauthorized:
		return spec.Ref(unauthorizedName)
	}
	return spec.Ref(nameComponent)
}

// UsualRefusal says when a refusal code is usually sent, and what the caller can do about it.
type UsualRefusal struct{ When, Remedy string }

// UsualRefusals has an entry for each code that a response can contain.
var UsualRefusals = map[ledger.Code]UsualRefusal{
	web.BadRequest: {"the request is malformed: the HTTP request could be read in two ways, the JSON is not strict (a duplicate key, invalid UTF-8), or it is nested deeper than 32", "correct the request"},
	ledger.Unauthorized: {"no valid credential. The response is the same whatever is wrong with it",
		"check the key or token, the organization, and the partner's source addresses"},
	ledger.Forbidden: {"the credential is valid, and this caller may not do this; or the partner is deactivated; or " + withoutTLS,
		"use a caller that may, see \"who may call it\""},
	ledger.ModuleNotActive:   {"the organization does not have the module", "ask the operator for the module"},
	ledger.NotFound:          {"you have no record with this id. The response is the same if another caller has a record with it", "check the id and the organization"},
	web.MethodNotAllowed:     {"the path has other methods, which the header `allow` lists", "use one of them"},
	web.RequestTimeout:       {"the request took too long to arrive", "send it again; a write with the same txid or Idempotency-Key"},
	ledger.Conflict:          {"the state does not allow it, or another operation is under way", "read the record, and decide again"},
	ledger.IllegalTransition: {"the record's state does not allow it", "read the record, and decide again"},
	ledger.ClaimTaken:        {"a unique value is in use", "choose another value"},
	ledger.StaleVersion:      {"the record has changed meanwhile", "read the record, and decide again"},
	web.PayloadTooLarge:      {"the body is too large", "send less: at most 1 MiB, 64 KiB without a credential, 5 MiB for an image"},
	web.UnsupportedMediaType: {"the body has another content type than the operation takes, or a Content-Encoding",
		"send the content type of the operation, uncompressed"},
	ledger.Invalid:     {"the fields that are listed are wrong", "correct each listed field"},
	ledger.WrongParams: {"the body has no object `params`", "put the fields inside `params`"},

	ledger.InvalidRefundAmount:  {"the amount is malformed, or more than is left to refund", "read refunded_amount, and refund at most the rest"},
	ledger.InvalidCaptureAmount: {"the amount is malformed, or more than is held", "capture at most the held amount"},
	ledger.NotReversible: {"the transaction has no money to return, or can no longer be cancelled",
		"read the transaction: a settled payment is refunded, a held one is cancelled"},
	ledger.NotContinuable: {"the transaction does not wait for its payer, the payer's time has run out, or it does not offer this route or method",
		"read the transaction; if its payer's time has run out, create another"},
	ledger.Expired:           {"the payer's time has run out", "create another transaction when the payer is there"},
	web.DestinationMissing:   {"the body has no `target_bank_id`", "send one of `availble_destinations`"},
	ledger.InsufficientFunds: {"an account has less money than is needed", "wait for settlements, or pay in"},
	ledger.LimitExceeded:     {"a bound would be exceeded", "ask for less, or later"},
	ledger.OutOfRange:        {"a total could overflow", "check the amount: it is in minor units"},

	web.RateLimited:     {"too many requests", "wait for the time in `retry-after`, then repeat the request"},
	web.HeadersTooLarge: {"request line and headers have more than 8 KiB", "send less"},
	ledger.Internal: {"a fault of the service. Whether the request was carried out is not known",
		"repeat the same request, a write with the same txid or Idempotency-Key; report the `x-request-id`"},
	ledger.Unavailable: {"too much is under way, the disk is nearly full, or the service starts or stops",
		"repeat the same request after `retry-after`; the message tells whether it may have been carried out"},
	web.VersionNotSupported: {"the response needs HTTP/1.1", "use HTTP/1.1"},
}
