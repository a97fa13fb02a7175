package actors

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
