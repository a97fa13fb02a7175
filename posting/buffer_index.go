package posting

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
)

// bufferIndex keeps the lines of the page buffer in memory. So a reader of one account or list need not search the stored
// page-buffer rows, in which the lines of all accounts and lists are mixed. The index shares memory with the writer's pages.
// The orderer adds lines before they are durable, so a view ignores the lines of groups that became durable after the view was
// opened.
//
// Lines that have moved to a stored page are kept for a while, because a view that was opened before the move cannot see that
// page.
type bufferIndex struct {
	seed   maphash.Seed
	shards [64]struct {
		sync.RWMutex
		pages map[string]*bufferedPage // by the common prefix of the keys of the page's stored rows
	}
	complete atomic.Uint64 // a group's number: the index is complete only for views of this group or a later one

	// Only the orderer uses the fields below.
	movedRuns []movedLineRun // runs that are kept only for older views, the oldest first
	bytes     int            // memory of these runs in bytes
	maxBytes  int            // maximum of bytes
}

// maxMovedBytes is the maximum memory for lines that are kept after they have moved to a stored page. runOverhead is the memory
// that a run takes in addition to its lines. Both are in bytes.
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

// bufferedPage contains the buffered lines of one page, that is, of one account or list.
type bufferedPage struct {
	prefix string // common prefix of the keys of the page's stored rows

	mu   sync.Mutex
	runs []*lineRun // the oldest first; only the last run may have lines that are not on a stored page
}

// lineRun contains consecutive lines of a page. Either all of them have moved to a stored page, in the same group, or none of
// them.
type lineRun struct {
	lines        []byte
	ends         []groupEnd // one for each group whose lines are in the run
	movedInGroup uint64     // number of the group that moved the lines to a stored page; 0 if they have not moved
}

// groupEnd says that the lines of a group end at the offset end in run.lines.
type groupEnd struct {
	group uint64
	end   int
}

// movedLineRun is a run whose lines have moved to a stored page, together with the page to which the run belongs.
type movedLineRun struct {
	page *bufferedPage
	*lineRun
}

// lines returns the buffered lines of the page with this prefix. It returns the lines that a view sees if the view's last group
// is the given one. The caller must not modify them. If the index no longer has all these lines, ok is false.
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
	return lines, b.complete.Load() <= group // compared last: if a run that the view needs was dropped meanwhile, ok is false
}

// at returns the buffered lines of the page that a view sees if the view's last group is the given one.
func (p *bufferedPage) at(group uint64) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.runs {
		if r.movedInGroup != 0 && r.movedInGroup <= group {
			continue
		}
		// The search begins at the newest group, because most views are recent.
		for n := len(r.ends) - 1; n >= 0; n-- {
			if r.ends[n].group <= group {
				return r.lines[:r.ends[n].end:r.ends[n].end]
			}
		}
		return nil
	}
	return nil
}

// extend makes the lines that the group has added to the page known to readers.
func (b *bufferIndex) extend(p *page, group uint64) {
	if p.indexedPage == nil {
		p.indexedPage = b.page(p.prefix)
	}
	s := p.indexedPage
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.runs) - 1
	if last < 0 || s.runs[last].movedInGroup != 0 {
		s.runs = append(s.runs, new(lineRun))
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

// page returns the index's entry for the page with this prefix. If there is no entry, page adds one.
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

// move records that the group moves the page's lines to a stored page. From then on the memory of the lines belongs to the
// index alone.
func (b *bufferIndex) move(p *page, group uint64) {
	s := p.indexedPage
	p.indexedPage, p.lines = nil, nil
	s.mu.Lock()
	r := s.runs[len(s.runs)-1]
	r.movedInGroup = group
	s.mu.Unlock()
	b.movedRuns = append(b.movedRuns, movedLineRun{s, r})
	b.bytes += len(r.lines) + runOverhead
}

// drop removes the oldest moved runs from the index until the moved runs take at most maxBytes.
func (b *bufferIndex) drop() {
	n := 0
	for ; b.bytes > b.maxBytes; n++ {
		b.bytes -= len(b.movedRuns[n].lines) + runOverhead
	}
	if n == 0 {
		return
	}
	b.complete.Store(b.movedRuns[n-1].movedInGroup)
	for i := range b.movedRuns[:n] {
		b.remove(&b.movedRuns[i])
	}
	clear(b.movedRuns[:n])
	b.movedRuns = b.movedRuns[n:]
}

func (b *bufferIndex) remove(m *movedLineRun) {
	m.page.mu.Lock()
	defer m.page.mu.Unlock()
	at, _ := slices.BinarySearchFunc(m.page.runs, m.lineRun, func(r, sought *lineRun) int {
		if r.movedInGroup == 0 {
			return 1
		}
		return cmp.Compare(r.movedInGroup, sought.movedInGroup)
	})
	if m.page.runs = slices.Delete(m.page.runs, at, at+1); len(m.page.runs) > 0 {
		return
	}
	shard := &b.shards[maphash.String(b.seed, m.page.prefix)%uint64(len(b.shards))]
	shard.Lock()
	defer shard.Unlock()
	delete(shard.pages, m.page.prefix)
}
