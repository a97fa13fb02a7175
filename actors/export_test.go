package actors

import "time"

// FillPool makes all goroutines of the pool busy, and fills its queue up to the bound, with jobs that wait for release.
func (rt *Runtime) FillPool(release <-chan struct{}) {
	busy := make(chan struct{}, poolSize)
	for range poolSize {
		if rt.Go(func() { busy <- struct{}{}; <-release }) != nil {
			break
		}
	}
	for range poolSize {
		<-busy // wait until each job has begun: a job that began later would leave room in the queue
	}
	for rt.Go(func() { <-release }) == nil {
	}
}

// LibraryProcesses returns how many actors are in the table of the library (protoactor-go).
func (rt *Runtime) LibraryProcesses() (n int) {
	for _, bucket := range rt.system.ProcessRegistry.LocalPIDs.LocalPIDs {
		n += bucket.Count()
	}
	return n
}

// MaxSpare bounds the spare actors of a registry, and Shards is the number of its parts, each with spare actors of its own.
const (
	MaxSpare = Shards * maxSpare
	Shards   = len(Registry[int]{}.shards)
)

// KeptActors returns the number of actors that are kept without work.
func (rt *Runtime) KeptActors() int64 { return rt.keptActors.Load() }

// AddKeptActors raises the number that KeptActors returns, without making actors.
func (rt *Runtime) AddKeptActors(more int64) { rt.keptActors.Add(more) }

// StopIdle asks the actors that have been idle for too long, at the real time now, whether they may stop.
func (r *Registry[K]) StopIdle(now time.Time) { r.stopIdle(now) }

// Reclaim returns lost due work to the journal, as if a given duration had passed.
func (rt *Runtime) Reclaim(after time.Duration) { rt.reclaim(time.Now().Add(after)) }
