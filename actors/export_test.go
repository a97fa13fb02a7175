package actors

// Crowd fills the pool's queue up to its bound with jobs that wait for release.
func (rt *Runtime) Crowd(release <-chan struct{}) {
	for rt.Go(func() { <-release }) == nil {
	}
}
