package checkpoint

import "mizan/actors"

// Begin runs MakeDue on the runtime's pool, as a Maker does after each pause.
func (m *Maker) Begin() { m.begin() }

// DelayAfter returns how long to wait after a run, in doublings of a second.
var DelayAfter = delayAfter

// ContinueOn gives a Maker another runtime. The Maker keeps its memory.
func (m *Maker) ContinueOn(rt *actors.Runtime) { m.rt = rt }
