package api

import (
	"encoding/json"
	"hash/fnv"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	directoryactor "mizan/actors/directory"
	"mizan/api/web"
	"mizan/ledger"
)

// organizationRow is what the merged list of organizations needs to know about a row.
type organizationRow struct {
	ID      string `json:"id"`
	Created string `json:"created_at"`

	json json.RawMessage
}

// routeOrganizations answers requests about all organizations: the list of all shards, and a new organization.
func (f *Front) routeOrganizations(ctx *fasthttp.RequestCtx, isOperator bool) {
	switch {
	case isOperator && isBodyless(ctx):
		f.showOrganizations(ctx)
	case isOperator && ctx.IsPost():
		shard, err := f.shardForNew(ctx)
		if err != nil {
			web.WriteError(ctx, err)
			return
		}
		f.serveAny(ctx, target{shards: []int{shard}}, true)
	default:
		f.serveAny(ctx, target{shards: []int{platformShard}}, isOperator) // it refuses the caller or the method
	}
}

// shardForNew returns the shard for a new organization: the one with the fewest. If the request has an idempotency key, the key
// determines the shard, so that a repeated request reaches the shard that knows the first one.
func (f *Front) shardForNew(ctx *fasthttp.RequestCtx) (int, error) {
	count := f.cfg.Shards.Count() - 1
	if key := ctx.Request.Header.Peek("Idempotency-Key"); len(key) > 0 {
		hash := fnv.New64a()
		_, _ = hash.Write(key) // never fails
		return 1 + int(hash.Sum64()%uint64(count)), nil
	}
	statuses, _ := f.Nodes()
	fewest, least := 0, -1
	for shard := 1; shard <= count; shard++ {
		if b := describeShard(shard, statuses); b.Leader != nil && (least < 0 || b.Organizations < least) {
			fewest, least = shard, b.Organizations
		}
	}
	if fewest == 0 {
		return 0, ledger.Refuse("api.front", ledger.Unavailable, "no node serves a shard of organizations now: nothing was done")
	}
	return fewest, nil
}

// showOrganizations is GET /organizations, newest first. Each shard has its own list, so a page is made of one page of each.
func (f *Front) showOrganizations(ctx *fasthttp.RequestCtx) {
	query := string(ctx.URI().QueryString())
	rows, hasMore, refusal, err := f.askForOrganizations(query)
	switch {
	case err != nil:
		web.WriteError(ctx, err)
		return
	case refusal != nil:
		web.WriteJSON(ctx, refusal.StatusCode(), refusal.Body())
		return
	}
	limit := len(rows)
	if values, err := url.ParseQuery(query); err == nil {
		limit = web.DefaultLimit
		if n, err := strconv.Atoi(values.Get("limit")); err == nil {
			limit = n
		}
	}
	next := ""
	if len(rows) > limit {
		rows, hasMore = rows[:limit], true
	}
	if hasMore && len(rows) > 0 {
		next = rows[len(rows)-1].Created + "/" + rows[len(rows)-1].ID
	}
	l := web.NewList()
	for _, row := range rows {
		l.AddRow(row.json)
	}
	web.WriteJSON(ctx, fiber.StatusOK, l.Finish("created_at", next))
}

// listOrganizations returns organizations of all shards, newest first, as many of each as the query says.
func (f *Front) listOrganizations(query string) ([]organizationRow, error) {
	rows, _, refusal, err := f.askForOrganizations(query)
	if refusal != nil {
		err = ledger.Refuse("api.front", ledger.Internal, "a shard does not list its organizations")
	}
	return rows, err
}

// askForOrganizations asks all shards for a page of their organizations. hasMore tells whether a shard has a further page.
// refusal is the answer of a shard that refuses the query. While organizations are being moved, one of them may be in no list or in
// two, so the shards are asked again, and each organization is kept once.
func (f *Front) askForOrganizations(query string) (rows []organizationRow, hasMore bool, refusal *fasthttp.Response, err error) {
	rows, hasMore, isReceiving, refusal, err := f.askEachForOrganizations(query)
	if isReceiving && refusal == nil && err == nil {
		rows, hasMore, _, refusal, err = f.askEachForOrganizations(query)
	}
	rows = slices.CompactFunc(rows, func(a, b organizationRow) bool { return a.ID == b.ID })
	return rows, hasMore, refusal, err
}

// askEachForOrganizations asks all shards once. isReceiving tells whether an organization is being copied to one of them.
func (f *Front) askEachForOrganizations(query string) (rows []organizationRow, hasMore, isReceiving bool, refusal *fasthttp.Response, err error) {
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, shard := range f.everyShard() {
		asking.Go(func() {
			page, more, receives, refused, askErr := f.askShardForOrganizations(shard, query)
			mu.Lock()
			defer mu.Unlock()
			rows, hasMore, isReceiving = append(rows, page...), hasMore || more, isReceiving || receives
			if refused != nil {
				refusal = refused
			}
			if askErr != nil {
				err = askErr
			}
		})
	}
	asking.Wait()
	slices.SortFunc(rows, func(a, b organizationRow) int {
		at, _ := directoryactor.ParseCursor(a.Created)
		bt, _ := directoryactor.ParseCursor(b.Created)
		switch {
		case at.At > bt.At:
			return -1
		case at.At < bt.At:
			return 1
		}
		return strings.Compare(b.ID, a.ID)
	})
	return rows, hasMore, isReceiving, refusal, err
}

// askShardForOrganizations asks one shard, and waits while an organization belongs to neither this shard nor another one.
func (f *Front) askShardForOrganizations(shard int, query string) (rows []organizationRow, hasMore, isReceiving bool, refusal *fasthttp.Response, err error) {
	var req fasthttp.Request
	resp := new(fasthttp.Response)
	uri := organizationsPath
	if query != "" {
		uri += "?" + query
	}
	req.Header.SetMethod(fiber.MethodGet)
	req.SetRequestURI(uri)
	req.Header.SetHost(f.cfg.Domain)
	for deadline := time.Now().Add(leaderWait); ; time.Sleep(leaderCheck) {
		if err := f.ask(shard, &req, resp); err != nil {
			return nil, false, false, nil, err
		}
		moves := string(resp.Header.PeekBytes(headerMoves))
		if isReceiving = moves == string(movesToHere); moves != string(movesNow) {
			break
		}
		if time.Now().After(deadline) {
			return nil, false, false, nil, noLeader(shard)
		}
	}
	if resp.StatusCode() != fiber.StatusOK {
		return nil, false, false, resp, nil
	}
	var page struct {
		Data   []json.RawMessage `json:"data"`
		Cursor struct {
			Value *string `json:"cursor_value"`
		} `json:"cursor"`
	}
	if err := json.Unmarshal(resp.Body(), &page); err != nil {
		return nil, false, false, nil, err
	}
	rows = make([]organizationRow, len(page.Data))
	for i, content := range page.Data {
		if err := json.Unmarshal(content, &rows[i]); err != nil {
			return nil, false, false, nil, err
		}
		rows[i].json = content
	}
	return rows, page.Cursor.Value != nil, isReceiving, nil, nil
}
