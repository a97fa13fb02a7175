package checkpoint

import "mizan/actors"

// Begin runs MakeDue on the runtime's pool, as a Maker does after each pause.
func (m *Maker) Begin() { m.begin() }

// DelayAfter returns how long to wait after a run. Its result n means 2ⁿ seconds.
var DelayAfter = delayAfter

// ContinueOn gives a Maker another runtime. The Maker keeps its memory.
func (m *Maker) ContinueOn(rt *actors.Runtime) { m.rt = rt }
