package checkpoint

import "mizan/actors"

// Begin runs a look on the runtime's pool, as the timer does.
func (k *Keeper) Begin() { k.begin() }

// RestAfter returns how long a keeper rests after a look, in doublings of a second.
var RestAfter = restAfter

// On makes a keeper continue with another runtime, with all of its memory.
func (k *Keeper) On(rt *actors.Runtime) { k.rt = rt }
