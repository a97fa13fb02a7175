package storefront

import (
	"sync"

	"mizan/ledger"
)

// Bounds of uploads at once: one picture is decoded, the others wait with their files in memory.
const (
	maxUploads      = 4
	maxUploadsOfOrg = 2 // so that one organization does not keep the others out
)

// uploads counts the images that are being uploaded.
type uploads struct {
	mu    sync.Mutex
	total int               // guarded by mu
	byOrg map[ledger.ID]int // guarded by mu; organizations without uploads are left out
}

// enter takes a place for an upload of the organization. It returns false if there is none.
func (u *uploads) enter(org ledger.ID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.total >= maxUploads || u.byOrg[org] >= maxUploadsOfOrg {
		return false
	}
	u.total++
	u.byOrg[org]++
	return true
}

// leave gives back a place that enter has taken.
func (u *uploads) leave(org ledger.ID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.total--
	if u.byOrg[org]--; u.byOrg[org] == 0 {
		delete(u.byOrg, org)
	}
}
