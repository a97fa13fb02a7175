package api

import (
	"runtime"
	"sync"
	"time"

	"mizan/api/web"
)

const (
	// readsOfCore is how many requests that only read are in service at once, for each core. With two, one may wait for the disk while
	// the other runs. With more, each step of a payment would wait for more reads.
	readsOfCore = 2

	// readLapse is how long a read keeps its place among those in service: longer than any page of a list takes. A read that lasts
	// longer waits for something other than processors, and delays no others from then on.
	readLapse = time.Second
)

// reads bounds how many reads are in service at once. The others wait, first in, first out. Without the bound, a thousand clients
// that read lists have a thousand runnable goroutines, each of which runs for a millisecond; a payment or a health check would
// wait for all of them at each of its steps.
type reads struct {
	places chan struct{} // has an element for each read in service
	lapse  time.Duration
}

func newReads() *reads {
	return &reads{places: make(chan struct{}, readsOfCore*runtime.GOMAXPROCS(0)), lapse: readLapse}
}

// enter waits for a place. The caller must call leave, which gives the place to the next read.
func (r *reads) enter() (leave func()) {
	r.places <- struct{}{}
	free := sync.OnceFunc(func() { <-r.places })
	lapse := time.AfterFunc(r.lapse, free)
	return func() {
		lapse.Stop()
		free()
	}
}

// isBoundedRead tells whether the requests of a route wait for a place among the reads. Commands have a queue of their own, and a
// health check must be answered even when everything else waits.
func isBoundedRead(r *web.Route) bool {
	return r.Method == "GET" && !r.Command && !r.SkipsQueues && !isCheck(r.Path)
}
