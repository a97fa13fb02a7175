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

// target returns the shards that may know what a request is about, in the order in which they are asked. Usually it is one.
func (f *Front) target(ctx *fasthttp.RequestCtx, path string, isOperator bool) ([]int, error) {
	switch {
	case strings.HasPrefix(path, organizationsPath+"/"):
		return f.shardOfID(strings.TrimPrefix(path, organizationsPath+"/")), nil
	case path == rotatePath:
		return []int{platformShard}, nil
	case strings.HasPrefix(path, storefront.LinkPath), strings.HasPrefix(path, storefront.ProductPath), strings.HasPrefix(path, storefront.ImagePath):
		return f.everyShard(), nil
	case strings.HasPrefix(path, terminalPath) && strings.HasSuffix(path, updatesEnd):
		return f.everyShard(), nil
	case strings.HasPrefix(path, payerpage.Root+"/"):
		return f.shardOf(payerpage.OrganizationOf(string(ctx.QueryArgs().Peek(payerpage.TokenParam)))), nil
	case strings.HasPrefix(path, view.Root):
		return f.targetOfConsole(ctx)
	}
	if header := ctx.Request.Header.PeekBytes(web.HeaderOrganization); len(header) > 0 {
		return f.shardOf(auth.Organization(header)), nil
	}
	if isOperator {
		if shard, err := strconv.Atoi(string(ctx.Request.Header.PeekBytes(headerAskedShard))); err == nil && shard >= 0 && shard < f.cfg.Shards.Count() {
			return []int{shard}, nil
		}
		return f.soleShard()
	}
	return []int{platformShard}, nil
}

// targetOfConsole returns the shard of the organization in whose console a person is. A person who is not signed in names the
// organization in the address, or in the form of the login page.
func (f *Front) targetOfConsole(ctx *fasthttp.RequestCtx) ([]int, error) {
	isLogin := ctx.IsPost() && string(ctx.Path()) == visit.LoginPath
	if cookie := ctx.Request.Header.Cookie(web.SessionCookie); len(cookie) > 0 && !isLogin {
		org, _, _ := bytes.Cut(cookie, []byte{'.'})
		return f.shardOf(auth.Organization(org)), nil
	}
	if !isLogin {
		return f.shardOfID(string(ctx.QueryArgs().Peek("organization"))), nil
	}
	if err := f.take(ctx, maxOpen); err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(ctx.Request.Body()))
	if err != nil {
		return []int{platformShard}, nil
	}
	return f.shardOfID(form.Get("organization")), nil
}

func (f *Front) shardOfID(text string) []int {
	id, err := uuid.Parse(text)
	if err != nil {
		return []int{platformShard}
	}
	return f.shardOf(id)
}

// shardOf returns the shard of an organization. No organization has the zero id; requests about it are answered by the
// platform's shard, which finds nothing.
func (f *Front) shardOf(org ledger.ID) []int {
	if org == (ledger.ID{}) {
		return []int{platformShard}
	}
	return []int{f.cfg.Shards.ShardOf(org)}
}

// everyShard returns the shards of organizations. A request goes to each of them until one knows what it is about.
func (f *Front) everyShard() []int {
	list := make([]int, 0, f.cfg.Shards.Count()-1)
	for shard := 1; shard < f.cfg.Shards.Count(); shard++ {
		list = append(list, shard)
	}
	return list
}

// soleShard returns the shard of the cluster's only organization. If there is none, or more than one, it returns the platform's
// shard, which asks for the header x-organization-id.
func (f *Front) soleShard() ([]int, error) {
	list, err := f.listOrganizations("limit=2")
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return []int{platformShard}, nil
	}
	return f.shardOfID(list[0].ID), nil
}

// isBodyless tells whether requests with the method have no body.
func isBodyless(ctx *fasthttp.RequestCtx) bool {
	method := string(ctx.Method())
	return method == fiber.MethodGet || method == fiber.MethodHead
}
