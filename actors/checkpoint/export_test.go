package checkpoint

import "mizan/actors"

// Begin has a look made on the runtime's pool, as the passing of time does.
func (k *Keeper) Begin() { k.begin() }

// RestAfter is how many doublings of a second a keeper rests after a look.
var RestAfter = restAfter

// On has a keeper go on with another runtime, and all that it remembers.
func (k *Keeper) On(rt *actors.Runtime) { k.rt = rt }
