package browser_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// document is a page that a tab shows or has shown.
type document struct {
	number   int // how many pages the tab has shown, up to this one
	url      string
	loader   cdp.LoaderID
	status   int64 // HTTP status of the response
	bytes    int64 // bytes received over the network for the page and everything that it loads
	isLoaded bool
	frame    cdp.Frame                 // the last document loaded into a frame inside the page
	held     int                       // requests that the test has held back so far
	paused   *fetch.EventRequestPaused // the last of them; nil if none
}

// events records what the browser reports about a tab.
type events struct {
	mu       sync.Mutex
	changed  chan struct{} // guarded by mu; closed at the next event
	document document
	requests map[network.RequestID]cdp.LoaderID
	statuses map[cdp.LoaderID]int64
	bytes    map[cdp.LoaderID]int64
	urls     []string                  // URLs of all requests since the last call of take
	problems []string                  // errors on the browser's console since the last call of take
	held     int                       // requests that the test has held back so far
	paused   *fetch.EventRequestPaused // the last of them; nil if none
}

func newEvents() *events {
	return &events{
		changed: make(chan struct{}), requests: make(map[network.RequestID]cdp.LoaderID), statuses: make(map[cdp.LoaderID]int64), bytes: make(map[cdp.LoaderID]int64),
	}
}

// record stores an event that the browser has reported.
func (e *events) record(event any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch event := event.(type) {
	case *network.EventRequestWillBeSent:
		e.requests[event.RequestID] = event.LoaderID
		e.urls = append(e.urls, event.Request.URL)
	case *fetch.EventRequestPaused:
		e.held++
		e.paused = event
	case *network.EventResponseReceived:
		if event.Type == network.ResourceTypeDocument {
			e.statuses[event.LoaderID] = event.Response.Status
		}
	case *network.EventLoadingFinished:
		e.bytes[e.requests[event.RequestID]] += int64(event.EncodedDataLength)
	case *page.EventFrameNavigated:
		e.showFrame(event)
	case *page.EventLoadEventFired:
		e.document.isLoaded = true
	case *runtime.EventConsoleAPICalled:
		if event.Type == runtime.ConsoleAPICalledTypeError {
			for _, argument := range event.Args {
				e.problems = append(e.problems, fmt.Sprintf("console: %s %s", argument.Value, argument.Description))
			}
		}
	case *runtime.EventExceptionThrown:
		e.problems = append(e.problems, "exception: "+event.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		e.recordLog(event.Entry)
	default:
		return
	}
	close(e.changed)
	e.changed = make(chan struct{})
}

// showFrame records that the page, or a frame inside it, now shows another document.
func (e *events) showFrame(event *page.EventFrameNavigated) {
	if event.Frame.ParentID != "" {
		e.document.frame = *event.Frame
		return
	}
	// The browser takes a page in its back-forward cache as it was, so this page is already loaded.
	isRestored := event.Type == page.NavigationTypeBackForwardCacheRestore
	e.document = document{number: e.document.number + 1, url: event.Frame.URL + event.Frame.URLFragment, loader: event.Frame.LoaderID, isLoaded: isRestored}
}

// recordLog records an error in the browser's log, such as a violation of the content security policy. The status of a
// document is not an error, because tests check it.
func (e *events) recordLog(entry *log.Entry) {
	_, isDocument := e.statuses[cdp.LoaderID(entry.NetworkRequestID)]
	if entry.Level == log.EntryLevelError && !(isDocument && entry.Source == log.EntrySourceNetwork) {
		e.problems = append(e.problems, fmt.Sprintf("%s: %s %s", entry.Source, entry.Text, entry.URL))
	}
}

// current returns the page that the tab shows.
func (e *events) current() document {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.currentLocked()
}

func (e *events) currentLocked() document {
	d := e.document
	d.status, d.bytes, d.held, d.paused = e.statuses[d.loader], e.bytes[d.loader], e.held, e.paused
	return d
}

// wait waits until holds returns true for the page that the tab shows.
func (e *events) wait(ctx context.Context, holds func(document) bool) error {
	for {
		e.mu.Lock()
		d, changed := e.currentLocked(), e.changed
		e.mu.Unlock()
		if holds(d) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take returns the errors on the console and the URLs of the requests since the last call of take.
func (e *events) take() (problems, urls []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	problems, urls = e.problems, e.urls
	e.problems, e.urls = nil, nil
	return problems, urls
}
