package api

import (
	"runtime"
	"sync"
	"time"

	"mizan/api/web"
)

const (
	// readsOfCore is how many read requests are served at once for each core of the processor. With two per core, one read may
	// wait for the disk while the other runs. With more, each step of a payment would have to wait longer for a core.
	readsOfCore = 2

	// readLapse is how long a read may occupy its place. It is longer than any page of a list takes. A read that lasts even
	// longer waits for something other than the processor, such as a slow client, so another read may begin.
	readLapse = time.Second
)

// reads bounds how many read requests are served at once. The others wait in the order in which they came. Without the bound, a
// thousand clients that read lists would have a thousand runnable goroutines, each of which runs for a millisecond. Each step of
// a payment or a health check would wait for all these goroutines.
type reads struct {
	places chan struct{} // has an element for each served read
	lapse  time.Duration
}

func newReads() *reads {
	return &reads{places: make(chan struct{}, readsOfCore*runtime.GOMAXPROCS(0)), lapse: readLapse}
}

// enter waits until the request may be served. The caller must call leave when the request ends, to admit the next read.
func (r *reads) enter() (leave func()) {
	r.places <- struct{}{}
	free := sync.OnceFunc(func() { <-r.places })
	lapse := time.AfterFunc(r.lapse, free)
	return func() {
		lapse.Stop()
		free()
	}
}

// isBoundedRead tells whether the requests of a route need a place among the reads. Commands do not, because they have a queue of
// their own. Health checks do not, because they must be answered even when everything else waits.
func isBoundedRead(r *web.Route) bool {
	return r.Method == "GET" && !r.Command && !r.SkipsQueues && !isCheck(r.Path)
}
