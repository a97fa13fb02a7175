package checkpoint

import "mizan/actors"

// Begin runs MakeDue on the runtime's pool, as the timer does.
func (m *Maker) Begin() { m.begin() }

// RestAfter returns how long to wait after a run, in doublings of a second.
var RestAfter = delayAfter

// ContinueOn makes a Maker continue with another runtime, with all of its memory.
func (m *Maker) ContinueOn(rt *actors.Runtime) { m.rt = rt }
