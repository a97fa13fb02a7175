package bench

import (
	"os"
	"time"

	"mizan/bench/server"
)

// meter measures the resources that the server and the generator use.
type meter struct {
	server   *server.Server // nil: the run did not start the server
	before   [2]server.Usage
	peak     [2]int64
	stopping chan struct{}
	ended    chan struct{}
}

func startMeter(s *server.Server) *meter {
	m := &meter{server: s, stopping: make(chan struct{}), ended: make(chan struct{})}
	m.before = m.sample()
	go m.watch()
	return m
}

// sample reads the usage of the server and of the generator. A usage that can't be read stays zero.
func (m *meter) sample() (u [2]server.Usage) {
	if m.server != nil {
		u[0], _ = server.UsageOf(m.server.PID())
	}
	u[1], _ = server.UsageOf(os.Getpid())
	for i := range u {
		m.peak[i] = max(m.peak[i], u[i].Anon)
	}
	return u
}

func (m *meter) watch() {
	defer close(m.ended)
	tick := time.NewTicker(sampleEvery)
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

// stop ends the measurement and returns the resources that the server (nil if the run has not started it) and
// the generator have used.
func (m *meter) stop() (server *Costs, generator Costs) {
	close(m.stopping)
	<-m.ended
	after := m.sample()
	costs := func(i int) Costs {
		return Costs{CPUSeconds: (after[i].CPU - m.before[i].CPU).Seconds(), PeakAnon: m.peak[i]}
	}
	if m.server != nil {
		c := costs(0)
		c.ReadyAfter = m.server.ReadyAfter.Seconds()
		server = &c
	}
	return server, costs(1)
}
