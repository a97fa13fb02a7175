package actors

import "time"

// FillPool fills the pool's queue up to its bound with jobs that wait for release.
func (rt *Runtime) FillPool(release <-chan struct{}) {
	for rt.Go(func() { <-release }) == nil {
	}
}

// Processes returns how many processes the library has.
func (rt *Runtime) Processes() (n int) {
	for _, bucket := range rt.system.ProcessRegistry.LocalPIDs.LocalPIDs {
		n += bucket.Count()
	}
	return n
}

// Kept returns the number of actors that are kept without work.
func (rt *Runtime) Kept() int64 { return rt.kept.Load() }

// Keep raises the count of actors that are kept without work, without making any.
func (rt *Runtime) Keep(more int64) { rt.kept.Add(more) }

// StopIdle asks idle actors to stop, as of a real time.
func (r *Registry[K]) StopIdle(now time.Time) { r.stopIdle(now) }

// Reclaim returns due work to the journal as if a duration had passed.
func (rt *Runtime) Reclaim(after time.Duration) { rt.reclaim(time.Now().Add(after)) }
