package api

import (
	"runtime"
	"sync"
	"time"

	"mizan/api/web"
)

const (
	// readsOfCore is the number of read requests per core of the processor that are served at the same time. With two per core,
	// one of them can run while the other waits for the disk. With more, each step of a payment would wait longer for a core.
	readsOfCore = 2

	// readPlaceTimeout is the time after which a read's place becomes free even if the read has not ended. No page of a list
	// takes so long. A read that does must be waiting for something other than the processor, such as a slow client, so another
	// read may begin.
	readPlaceTimeout = time.Second
)

// reads bounds the number of read requests that are served at the same time. Other reads wait in the order of their arrival.
// Without the bound, a thousand clients that read lists would cause a thousand runnable goroutines, each of which runs for a
// millisecond. Each step of a payment or a health check would have to wait for all these goroutines.
type reads struct {
	places       chan struct{} // contains one element for each read that is being served
	placeTimeout time.Duration
}

func newReads() *reads {
	return &reads{places: make(chan struct{}, readsOfCore*runtime.GOMAXPROCS(0)), placeTimeout: readPlaceTimeout}
}

// enter waits until the request may be served. The caller must call leave when the request ends, to admit the next read.
func (r *reads) enter() (leave func()) {
	r.places <- struct{}{}
	free := sync.OnceFunc(func() { <-r.places })
	lapse := time.AfterFunc(r.placeTimeout, free)
	return func() {
		lapse.Stop()
		free()
	}
}

// isBoundedRead tells whether a request of this route needs a place among the reads. Commands need none, because they have
// their own queue. Health checks need none, because they must be answered even when everything else waits.
func isBoundedRead(r *web.Route) bool {
	return r.Method == "GET" && !r.Command && !r.SkipsQueues && !isCheck(r.Path)
}
