package posting

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
)

// bufferIndex keeps the lines of the page buffer in memory. So a reader of one account or list need not search the stored
// page-buffer rows, which have the lines of all accounts and lists. The index shares memory with the writer's pages. The
// orderer adds lines before they are durable, so a view ignores lines of groups that are later than the view.
//
// Lines that have moved to a stored page are kept for a while, because a view that was opened earlier does not see that page.
type bufferIndex struct {
	seed   maphash.Seed
	shards [64]struct {
		sync.RWMutex
		pages map[string]*bufferedPage // the key is the common prefix of the keys of the page's stored rows
	}
	complete atomic.Uint64 // number of a group; views of earlier groups must read the stored rows instead

	// Only the orderer uses the fields below.
	moved    []movedRun // runs that are kept for earlier views, oldest first
	bytes    int        // memory of these runs in bytes
	maxBytes int        // maximum of bytes
}

// maxMovedBytes is the maximum memory of lines that are kept after they have moved to a stored page. runOverhead is what a
// run takes in addition to its lines. Both are in bytes.
const (
	maxMovedBytes = 8 << 20
	runOverhead   = 256
)

func newBufferIndex() *bufferIndex {
	b := &bufferIndex{seed: maphash.MakeSeed(), maxBytes: maxMovedBytes}
	for i := range b.shards {
		b.shards[i].pages = make(map[string]*bufferedPage)
	}
	return b
}

// bufferedPage has the buffered lines of one page, that is, of one account or list.
type bufferedPage struct {
	prefix string // common prefix of the keys of the page's stored rows

	mu   sync.Mutex
	runs []*run // oldest first; the lines of all runs but the last have moved to stored pages
}

// run has consecutive lines of a page. They have moved to a stored page together, or have not moved yet.
type run struct {
	lines []byte
	ends  []groupEnd // one for each group that has added lines to the run
	moved uint64     // number of the group that wrote the lines to a stored page; 0: none yet
}

// groupEnd says where the lines of a group end in run.lines: at the offset end.
type groupEnd struct {
	group uint64
	end   int
}

// movedRun is a run whose lines have moved to a stored page, and the page of the run.
type movedRun struct {
	page *bufferedPage
	*run
}

// lines returns the buffered lines of the page with this prefix, as a view of the given group sees them. They must not be
// changed. If the index no longer has all these lines, ok is false.
func (b *bufferIndex) lines(prefix []byte, group uint64) (lines []byte, ok bool) {
	if b == nil {
		return nil, false
	}
	shard := &b.shards[maphash.Bytes(b.seed, prefix)%uint64(len(b.shards))]
	shard.RLock()
	p := shard.pages[string(prefix)]
	shard.RUnlock()
	if p != nil {
		lines = p.at(group)
	}
	return lines, b.complete.Load() <= group // compared last, so that no run that the view needs was dropped before the comparison
}

// at returns the page's buffered lines, as a view of the given group sees them.
func (p *bufferedPage) at(group uint64) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.runs {
		if r.moved != 0 && r.moved <= group {
			continue
		}
		// The search begins at the last group, because most views are of one of the last groups.
		for n := len(r.ends) - 1; n >= 0; n-- {
			if r.ends[n].group <= group {
				return r.lines[:r.ends[n].end:r.ends[n].end]
			}
		}
		return nil
	}
	return nil
}

// extend records the lines that the group has added to the page.
func (b *bufferIndex) extend(p *page, group uint64) {
	if p.shared == nil {
		p.shared = b.page(p.prefix)
	}
	s := p.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.runs) - 1
	if last < 0 || s.runs[last].moved != 0 {
		s.runs = append(s.runs, new(run))
		last++
	}
	r := s.runs[last]
	r.lines = p.lines
	if n := len(r.ends) - 1; n >= 0 && r.ends[n].group == group {
		r.ends[n].end = len(p.lines)
		return
	}
	r.ends = append(r.ends, groupEnd{group, len(p.lines)})
}

// page returns the index's entry for the page with this prefix. It adds an entry if there is none.
func (b *bufferIndex) page(prefix []byte) *bufferedPage {
	shard := &b.shards[maphash.Bytes(b.seed, prefix)%uint64(len(b.shards))]
	shard.Lock()
	defer shard.Unlock()
	p := shard.pages[string(prefix)]
	if p == nil {
		p = &bufferedPage{prefix: string(prefix)}
		shard.pages[p.prefix] = p
	}
	return p
}

// move records that the group writes the page's lines to a stored page. From then on only the index has the memory of the
// lines.
func (b *bufferIndex) move(p *page, group uint64) {
	s := p.shared
	p.shared, p.lines = nil, nil
	s.mu.Lock()
	r := s.runs[len(s.runs)-1]
	r.moved = group
	s.mu.Unlock()
	b.moved = append(b.moved, movedRun{s, r})
	b.bytes += len(r.lines) + runOverhead
}

// drop removes the oldest moved runs from the index as long as they take too many bytes.
func (b *bufferIndex) drop() {
	n := 0
	for ; b.bytes > b.maxBytes; n++ {
		b.bytes -= len(b.moved[n].lines) + runOverhead
	}
	if n == 0 {
		return
	}
	b.complete.Store(b.moved[n-1].moved)
	for i := range b.moved[:n] {
		b.remove(&b.moved[i])
	}
	clear(b.moved[:n])
	b.moved = b.moved[n:]
}

func (b *bufferIndex) remove(m *movedRun) {
	m.page.mu.Lock()
	defer m.page.mu.Unlock()
	at, _ := slices.BinarySearchFunc(m.page.runs, m.run, func(r, sought *run) int {
		if r.moved == 0 {
			return 1
		}
		return cmp.Compare(r.moved, sought.moved)
	})
	if m.page.runs = slices.Delete(m.page.runs, at, at+1); len(m.page.runs) > 0 {
		return
	}
	shard := &b.shards[maphash.String(b.seed, m.page.prefix)%uint64(len(b.shards))]
	shard.Lock()
	defer shard.Unlock()
	delete(shard.pages, m.page.prefix)
}
