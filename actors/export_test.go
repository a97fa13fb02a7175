package actors

import "time"

// Crowd fills the pool's queue up to its bound with jobs that wait for release.
func (rt *Runtime) Crowd(release <-chan struct{}) {
	for rt.Go(func() { <-release }) == nil {
	}
}

// Processes is how many processes the library knows.
func (rt *Runtime) Processes() (n int) {
	for _, bucket := range rt.system.ProcessRegistry.LocalPIDs.LocalPIDs {
		n += bucket.Count()
	}
	return n
}

// Kept is the number of actors that stay without work.
func (rt *Runtime) Kept() int64 { return rt.kept.Load() }

// Keep counts so many more actors that stay without work than there are.
func (rt *Runtime) Keep(more int64) { rt.kept.Add(more) }

// Sweep asks idle actors to go, as of the instant of real time.
func (r *Registry[K]) Sweep(now time.Time) { r.sweep(now) }

// Reclaim puts back the due work whose time is over when so much has passed.
func (rt *Runtime) Reclaim(after time.Duration) { rt.reclaim(time.Now().Add(after)) }
