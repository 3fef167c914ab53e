package series

// Pace is asked by loops that may take long whether to go on: a kernel that sorts a
// hundred thousand values at each step, or looks at the same samples in each of many
// windows. The zero value, and nil, let everything go on. It is for one goroutine.
//
// A kernel that is told to stop leaves whatever it has; who called it asks for Err
// before it looks at what came out.
type Pace struct {
	Ended func() error // why the query is to end, if it is
	work  int
	err   error
}

// paceLen is how much work is done between two looks, in values that were looked at:
// about a millisecond.
const paceLen = 1 << 19

// Over takes note of work, about one value looked at each, and tells whether to stop.
// Most calls cost next to nothing.
func (p *Pace) Over(work int) bool {
	if p == nil {
		return false
	}
	if p.work += work; p.work < paceLen {
		return p.err != nil
	}
	p.work = 0
	if p.err == nil && p.Ended != nil {
		p.err = p.Ended()
	}
	return p.err != nil
}

// Stop makes Over tell to stop from now on, for a reason of the kernel's own.
func (p *Pace) Stop(err error) {
	if p != nil && p.err == nil {
		p.err = err
	}
}

// Err returns why work has stopped, if it has.
func (p *Pace) Err() error {
	if p == nil {
		return nil
	}
	return p.err
}
