package clicks

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Users is a set of simulated users who click through the console.
type Users struct {
	client *http.Client
	base   string

	stop   context.CancelFunc
	people sync.WaitGroup

	mu     sync.Mutex
	kinds  map[string]*kind // by kind of page
	all    *hdrhistogram.Histogram
	errors map[string]int
}

// kind has the figures of one kind of page.
type kind struct {
	times *hdrhistogram.Histogram // µs
	bytes int                     // size of the largest page
}

// Page has the figures of one kind of page, as they are reported. Times are in milliseconds.
type Page struct {
	Kind  string  `json:"kind"`
	Views int64   `json:"views"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
	Bytes int     `json:"bytes"` // size of the largest page, uncompressed
}

// Report has the figures of all pages that the simulated users have opened.
type Report struct {
	Total  Page           `json:"total"`
	Pages  []Page         `json:"pages"` // the slowest p99 first
	Errors map[string]int `json:"errors,omitempty"`
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(time.Minute/time.Microsecond), 3)
}

// Start logs in the given number of people. Person i uses login i modulo the number of logins. The people click until Stop is
// called. The HTTP clients of all people use the transport of client.
func Start(ctx context.Context, client *http.Client, base string, logins []Login, people int) (*Users, error) {
	c := &Users{client: client, base: base, kinds: make(map[string]*kind), all: newHistogram(), errors: make(map[string]int)}
	var everybody []*person
	for i := range people {
		p, err := logIn(ctx, c, logins[i%len(logins)], uint64(i))
		if err != nil {
			return nil, err
		}
		everybody = append(everybody, p)
	}
	ctx, c.stop = context.WithCancel(ctx)
	for _, p := range everybody {
		c.people.Go(func() { p.click(ctx) })
	}
	return c, nil
}

// Stop makes all people stop and returns the figures.
func (u *Users) Stop() *Report {
	u.stop()
	u.people.Wait()
	r := &Report{Total: page("all", u.all, 0), Errors: u.errors}
	for name, k := range u.kinds {
		r.Pages = append(r.Pages, page(name, k.times, k.bytes))
	}
	slices.SortFunc(r.Pages, func(a, b Page) int {
		return cmp.Or(cmp.Compare(b.P99, a.P99), cmp.Compare(a.Kind, b.Kind))
	})
	return r
}

func page(name string, h *hdrhistogram.Histogram, bytes int) Page {
	ms := func(µs int64) float64 { return float64(µs) / 1000 }
	return Page{Kind: name, Views: h.TotalCount(), P50: ms(h.ValueAtQuantile(50)), P99: ms(h.ValueAtQuantile(99)), Max: ms(h.Max()), Bytes: bytes}
}

func (u *Users) count(name string, took time.Duration, bytes int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	k := u.kinds[name]
	if k == nil {
		k = &kind{times: newHistogram()}
		u.kinds[name] = k
	}
	µs := min(max(took.Microseconds(), 1), int64(time.Minute/time.Microsecond))
	_ = k.times.RecordValue(µs) // the value is within the histogram's range
	_ = u.all.RecordValue(µs)
	k.bytes = max(k.bytes, bytes)
}

func (u *Users) countError(address string, err error) {
	if err == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.errors[fmt.Sprintf("%s: %v", Kind(address), err)]++
}
