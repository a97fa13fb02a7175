package peer

import (
	"log/slog"
	"sync"
	"time"
)

// refusalInterval is the time after which a refusal that continues is logged again.
const refusalInterval = time.Minute

// Refusals logs why connections of other nodes are refused. A node that is refused tries again every moment, so the same reason
// is logged once a minute.
type Refusals struct {
	Log *slog.Logger // nil: nothing is logged

	mu   sync.Mutex
	last map[string]refusal // guarded by mu; by the name of the node, which its certificate proves
}

type refusal struct {
	reason string
	at     time.Time
}

// Note says that a connection with a node was refused.
func (r *Refusals) Note(node, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := r.last[node]; r.Log == nil || last.reason == reason && time.Since(last.at) < refusalInterval {
		return
	}
	if r.last == nil {
		r.last = make(map[string]refusal)
	}
	r.last[node] = refusal{reason, time.Now()}
	r.Log.Error("a node is refused", "node", node, "reason", reason)
}
