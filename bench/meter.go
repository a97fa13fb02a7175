package bench

import (
	"os"
	"time"

	"mizan/bench/server"
)

// meter measures the resources that the server and the load generator (this process) use. In each array, index 0
// has the server's value, and index 1 has the generator's value.
type meter struct {
	server   *server.Server // nil if the run did not start the server
	before   [2]server.Usage
	peakAnon [2]int64 // anonymous memory in bytes
	stopping chan struct{}
	stopped  chan struct{}
}

func startMeter(s *server.Server) *meter {
	m := &meter{server: s, stopping: make(chan struct{}), stopped: make(chan struct{})}
	m.before = m.sample()
	go m.watch()
	return m
}

// sample reads the current usage and updates the peaks. A usage that can't be read stays zero.
func (m *meter) sample() (u [2]server.Usage) {
	if m.server != nil {
		u[0], _ = server.UsageOf(m.server.PID())
	}
	u[1], _ = server.UsageOf(os.Getpid())
	for i := range u {
		m.peakAnon[i] = max(m.peakAnon[i], u[i].Anon)
	}
	return u
}

// watch samples periodically until the measurement ends.
func (m *meter) watch() {
	defer close(m.stopped)
	tick := time.NewTicker(samplePeriod)
	defer tick.Stop()
	for {
		select {
		case <-m.stopping:
			return
		case <-tick.C:
			m.sample()
		}
	}
}

// stop ends the measurement and returns the resources that the server and the generator have used. If the run has
// not started the server, the server's resources are nil.
func (m *meter) stop() (server *Costs, generator Costs) {
	close(m.stopping)
	<-m.stopped
	after := m.sample()
	costs := func(i int) Costs {
		return Costs{CPUSeconds: (after[i].CPU - m.before[i].CPU).Seconds(), PeakAnon: m.peakAnon[i]}
	}
	if m.server != nil {
		c := costs(0)
		c.ReadyAfter = m.server.ReadyAfter.Seconds()
		server = &c
	}
	return server, costs(1)
}
