package api

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"mizan/api/auth"
	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/payments"
	"mizan/api/web"
	"mizan/api/web/payerpage"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/storefront"
)

// platformShard is the shard with the administration tokens.
const platformShard = 0

// Paths whose requests do not name an organization by a header.
const (
	organizationsPath = "/api/v1/organizations"
	rotatePath        = "/api/v1/admin_tokens/rotate"
	terminalPath      = "/api/v1/terminal/"
	updatesEnd        = "/notifications"
)

// headerAskedShard names the shard that an operator's request concerns, if it concerns no organization.
var headerAskedShard = []byte("X-Mizan-Shard")

// isSessionToken tells whether a bearer token is that of a session, and so no administration token.
func isSessionToken(token []byte) bool {
	return bytes.HasPrefix(token, []byte(directory.SessionPrefix))
}

// target says what a request is about: an organization or, if its id is zero, something that one of the shards may know. They are
// asked in this order.
type target struct {
	org     ledger.ID
	shards  []int
	unknown int // besides 404, the status with which a shard says that it does not know what the request is about; 0 if there is none
}

// target finds out what a request is about.
func (f *Front) target(ctx *fasthttp.RequestCtx, path string, isOperator bool) (target, error) {
	switch {
	case strings.HasPrefix(path, organizationsPath+"/"):
		return targetOfID(strings.TrimPrefix(path, organizationsPath+"/")), nil
	case path == rotatePath:
		return ofPlatform, nil
	case strings.HasPrefix(path, storefront.LinkPath), strings.HasPrefix(path, storefront.ProductPath), strings.HasPrefix(path, storefront.ImagePath):
		return target{shards: f.everyShard()}, nil
	case strings.HasPrefix(path, terminalPath) && strings.HasSuffix(path, updatesEnd):
		return target{shards: f.everyShard(), unknown: fiber.StatusUnauthorized}, nil
	case strings.HasPrefix(path, payments.StripePath):
		return target{shards: f.everyShard(), unknown: fiber.StatusBadRequest}, nil
	case strings.HasPrefix(path, payerpage.Root+"/"):
		return targetOf(payerpage.OrganizationOf(string(ctx.QueryArgs().Peek(payerpage.TokenParam)))), nil
	case strings.HasPrefix(path, view.Root):
		return f.targetOfConsole(ctx)
	}
	if header := ctx.Request.Header.PeekBytes(web.HeaderOrganization); len(header) > 0 {
		return targetOf(auth.Organization(header)), nil
	}
	if isOperator {
		if shard, err := strconv.Atoi(string(ctx.Request.Header.PeekBytes(headerAskedShard))); err == nil && shard >= 0 && shard < f.cfg.Shards.Count() {
			return target{shards: []int{shard}}, nil
		}
		return f.soleOrganization()
	}
	return ofPlatform, nil
}

// targetOfConsole returns the organization in whose console a person is. A person who is not signed in names the
// organization in the address, or in the form of the login page.
func (f *Front) targetOfConsole(ctx *fasthttp.RequestCtx) (target, error) {
	isLogin := ctx.IsPost() && string(ctx.Path()) == visit.LoginPath
	if cookie := ctx.Request.Header.Cookie(web.SessionCookie); len(cookie) > 0 && !isLogin {
		org, _, _ := bytes.Cut(cookie, []byte{'.'})
		return targetOf(auth.Organization(org)), nil
	}
	if !isLogin {
		return targetOfID(string(ctx.QueryArgs().Peek("organization"))), nil
	}
	if err := f.take(ctx, maxOpen); err != nil {
		return target{}, err
	}
	form, err := url.ParseQuery(string(ctx.Request.Body()))
	if err != nil {
		return ofPlatform, nil
	}
	return targetOfID(form.Get("organization")), nil
}

func targetOfID(text string) target {
	id, err := uuid.Parse(text)
	if err != nil {
		return ofPlatform
	}
	return targetOf(id)
}

// targetOf returns the target of a request about an organization. No organization has the zero id; requests about it are answered
// by the platform's shard, which finds nothing.
func targetOf(org ledger.ID) target { return target{org: org, shards: ofPlatform.shards} }

// ofPlatform is the target of requests that the platform's shard answers.
var ofPlatform = target{shards: []int{platformShard}}

// everyShard returns the shards of organizations. A request goes to each of them until one knows what it is about.
func (f *Front) everyShard() []int {
	list := make([]int, 0, f.cfg.Shards.Count()-1)
	for shard := 1; shard < f.cfg.Shards.Count(); shard++ {
		list = append(list, shard)
	}
	return list
}

// soleOrganization returns the cluster's only organization. If there is none, or more than one, the platform's shard answers, and
// asks for the header x-organization-id.
func (f *Front) soleOrganization() (target, error) {
	list, err := f.listOrganizations("limit=2")
	if err != nil {
		return target{}, err
	}
	if len(list) != 1 {
		return ofPlatform, nil
	}
	return targetOfID(list[0].ID), nil
}

// isBodyless tells whether requests with the method have no body.
func isBodyless(ctx *fasthttp.RequestCtx) bool {
	method := string(ctx.Method())
	return method == fiber.MethodGet || method == fiber.MethodHead
}
