package web

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mizan/api/auth"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// Request is an HTTP request, with its route and its authenticated caller.
type Request struct {
	*fasthttp.RequestCtx
	Route     *Route
	Principal auth.Principal // the authenticated caller; zero for the administration token, and on routes that anyone may call

	// Operator is true if the caller has the administration token, on a route that partners or users with a session may call
	// too.
	Operator bool

	// OwnPartner is set to a partner's number if a session of this partner calls a route of the administration. The handler
	// must restrict the request to the records of this partner. If OwnPartner is 0, the request may access all records of
	// the organization.
	OwnPartner int64

	// Grant is the signed-in person for whom the console makes this request inside the server. If the request came over the
	// network, Grant is nil.
	Grant *Grant

	IsAdmitted bool // Authorizer.Admit has admitted the caller

	owner owner // see SetOwner

	fiberCtx *fiber.Ctx // contains the parameters of the path
}

// NewRequest returns a request that the router has matched to the route.
func NewRequest(route *Route, c *fiber.Ctx) *Request {
	return &Request{RequestCtx: c.Context(), Route: route, fiberCtx: c}
}

// Parameter returns a parameter of the path, unescaped and safe to keep.
func (req *Request) Parameter(name string) string {
	text := req.fiberCtx.Params(name)
	if strings.IndexByte(text, '%') < 0 {
		return text
	}
	unescaped, err := url.PathUnescape(text)
	if err != nil {
		return text
	}
	return unescaped
}

// Object returns the body, which must be a JSON object.
func (req *Request) Object() ([]byte, error) {
	value, err := Document(req.Request.Body())
	if err != nil {
		return nil, err
	}
	if !IsObject(value) {
		return nil, ledger.RefuseField("web.Object", "", "the body must be an object")
	}
	return value, nil
}

// Optional returns the body's JSON value, or an empty object if there is no body.
func (req *Request) Optional() ([]byte, error) {
	if len(bytes.TrimSpace(req.Request.Body())) == 0 {
		return EmptyObject, nil
	}
	if !IsJSON(req.Request.Header.ContentType()) {
		return nil, ledger.Refuse("web.Optional", UnsupportedMediaType, "the body must be application/json")
	}
	return Document(req.Request.Body())
}

// OptionalParams returns the params object of the body, or an empty object if there is no body or it has no params.
func (req *Request) OptionalParams() ([]byte, error) {
	value, err := req.Optional()
	if err != nil {
		return nil, err
	}
	if IsObject(value) && Member(value, "params") == nil {
		return EmptyObject, nil
	}
	return ParamsOf(value)
}

// ParamsOf returns the params object of a body.
func ParamsOf(body []byte) ([]byte, error) {
	if IsObject(body) {
		if params := Member(body, "params"); IsObject(params) {
			return params, nil
		}
	}
	return nil, ledger.RefuseField("web.ParamsOf", "params", "the body must have a params object")
}

// Input returns the members of the JSON object in the body, or no members if there is no body.
func (req *Request) Input() (schema.Input, error) {
	if len(req.Request.Body()) == 0 {
		return schema.Input{}, nil
	}
	if !IsJSON(req.Request.Header.ContentType()) {
		return nil, ledger.Refuse("web.Input", UnsupportedMediaType, "the body must be application/json")
	}
	value, err := Document(req.Request.Body())
	if err != nil {
		return nil, err
	}
	var input schema.Input
	if !IsObject(value) || json.Unmarshal(value, &input) != nil {
		return nil, ledger.RefuseField("web.Input", "body", "must be an object")
	}
	return input, nil
}

// Organizations finds the organizations that requests name.
type Organizations interface {
	SoleOrganization() (ledger.ID, bool)
	Organization(ledger.ID) (*directory.Organization, bool)
}

// Organization returns the organization that an administration request is about. It is the organization in the request's
// header or, if the header is missing, the only organization that exists.
func (req *Request) Organization(organizations Organizations) (ledger.ID, error) {
	const op, header = "web.Organization", "x-organization-id"
	headerValue := req.Request.Header.PeekBytes(HeaderOrganization)
	if len(headerValue) == 0 {
		if id, isSole := organizations.SoleOrganization(); isSole {
			return id, nil
		}
		return ledger.ID{}, ledger.RefuseField(op, header, "%s is required", header)
	}
	if err := refuseSeveralOrganizations(headerValue); err != nil {
		return ledger.ID{}, err
	}
	id, err := ParseID(string(headerValue))
	if err != nil {
		return ledger.ID{}, ledger.RefuseField(op, header, "%s must be a UUID", header)
	}
	if _, found := organizations.Organization(id); !found {
		return ledger.ID{}, ledger.Refuse(op, ledger.NotFound, "no such organization")
	}
	return id, nil
}

// IsJSON tells whether a content type is application/json, without a charset or with the charset UTF-8.
func IsJSON(contentType []byte) bool {
	const jsonType = "application/json"
	if string(contentType) == jsonType {
		return true
	}
	mediaType, parameters, err := mime.ParseMediaType(string(contentType))
	if err != nil || mediaType != jsonType {
		return false
	}
	charset, hasCharset := parameters["charset"]
	return len(parameters) == 0 || len(parameters) == 1 && hasCharset && strings.EqualFold(charset, "utf-8")
}
