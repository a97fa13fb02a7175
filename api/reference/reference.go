package reference

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"

	"mizan/api/description"
	"mizan/api/description/operations"
	"mizan/api/web"
)

// Config has the settings of the handlers.
type Config struct {
	Version string
	Env     string // "sandbox" or "production"

	// Routes returns all routes of the server. The description is made from them.
	Routes func() []web.Route
}

// Handlers serves the routes.
type Handlers struct {
	cfg  Config
	site func() *site // makes the files at the first request
}

// New returns the handlers.
func New(cfg Config) *Handlers {
	h := &Handlers{cfg: cfg}
	h.site = sync.OnceValue(func() *site { return newSite(h.Document(), cfg) })
	return h
}

// Document returns the description.
func (h *Handlers) Document() *description.Document {
	return description.New(operations.Contents(), h.cfg.Version, h.cfg.Routes())
}

// Paths of this package.
const (
	docsPath   = "/docs"
	errorsPage = "errors"
	searchPage = "search"
)

// Routes returns the routes. All except the search do so little work that they skip the queue for reads
// (web.Route.SkipsQueues).
func (h *Handlers) Routes() []web.Route {
	anyone := web.Access{Callers: web.Anyone}
	routes := []web.Route{{Method: fiber.MethodGet, Path: docsPath + "/" + searchPage, Access: anyone, Handle: h.search}} // must precede :page
	for _, path := range []string{"/", docsPath, docsPath + "/:page", "/openapi.json", "/openapi.yaml"} {
		routes = append(routes, web.Route{Method: fiber.MethodGet, Path: path, Access: anyone, SkipsQueues: true, Handle: h.sendFile})
	}
	return routes
}

// file is the content of one URL, which is the same for every request.
type file struct {
	content     []byte
	contentType string
	policy      string // Content-Security-Policy; if empty, the strict policy of all other responses
	etag        string
}

func newFile(content []byte, contentType, policy string) *file {
	sum := sha256.Sum256(content)
	return &file{content, contentType, policy, `"` + hex.EncodeToString(sum[:12]) + `"`}
}

// Browsers must revalidate a file before each use, because a new release may have changed it.
var (
	valueRevalidate = []byte("no-cache")
	headerETag      = []byte("Etag")
)

// sendFile responds with the file at the request's path.
func (h *Handlers) sendFile(req *web.Request) error {
	s := h.site()
	f := s.files[string(req.Path())]
	if f == nil {
		f = s.notFound
	}
	header := &req.Response.Header
	header.SetCanonical(web.HeaderNoSniff, web.ValueNoSniff)
	if f.policy != "" {
		header.SetCanonical(web.HeaderPolicy, []byte(f.policy))
	}
	if f == s.notFound {
		header.SetCanonical(web.HeaderCache, web.ValueNoStore)
		req.Response.SetStatusCode(fiber.StatusNotFound)
	} else {
		header.SetCanonical(web.HeaderCache, valueRevalidate)
		header.SetCanonical(headerETag, []byte(f.etag))
		if strings.Contains(string(req.Request.Header.Peek(fiber.HeaderIfNoneMatch)), f.etag) {
			req.Response.SetStatusCode(fiber.StatusNotModified)
			return nil
		}
	}
	header.SetContentType(f.contentType)
	req.Response.SetBodyRaw(f.content)
	return nil
}

// maxQuery is the number of bytes after which the text of a search is cut off.
const maxQuery = 100

// search responds with the operations, webhooks and error codes whose texts contain all words of the
// query.
func (h *Handlers) search(req *web.Request) error {
	s := h.site()
	query := web.Truncate(req.QueryArgs().Peek("q"), maxQuery)
	content := s.render("search", searchView{pageView: s.pageView("Search", searchPage), Query: strings.ToValidUTF8(query, "?"), Found: s.find(query)})
	header := &req.Response.Header
	header.SetContentType(htmlType)
	header.SetCanonical(web.HeaderNoSniff, web.ValueNoSniff)
	header.SetCanonical(web.HeaderCache, web.ValueNoStore)
	header.SetCanonical(web.HeaderPolicy, []byte(pagePolicy))
	req.Response.SetBodyRaw(content)
	return nil
}
