package vfs

import "errors"

type faultFile struct {
	fault *Fault
	inner File
	name  string
}

// Read implements File.
func (f *faultFile) Read(p []byte) (int, error) {
	if err := f.fault.check(OpRead, f.name); err != nil {
		return 0, err
	}
	return f.inner.Read(p)
}

// ReadAt implements File.
func (f *faultFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.fault.check(OpReadAt, f.name); err != nil {
		return 0, err
	}
	return f.inner.ReadAt(p, off)
}

// Write implements File.
func (f *faultFile) Write(p []byte) (int, error) {
	short, err := f.fault.checkWrite(f.name, len(p))
	if err == nil {
		return f.inner.Write(p)
	}
	n := 0
	if short > 0 {
		var inner error
		n, inner = f.inner.Write(p[:short])
		err = errors.Join(err, inner)
	}
	return n, err
}

// Sync implements File.
func (f *faultFile) Sync() error {
	if err := f.fault.check(OpSync, f.name); err != nil {
		return err
	}
	return f.inner.Sync()
}

// Truncate implements File.
func (f *faultFile) Truncate(size int64) error {
	if err := f.fault.check(OpTruncate, f.name); err != nil {
		return err
	}
	return f.inner.Truncate(size)
}

// Size implements File.
func (f *faultFile) Size() (int64, error) {
	if err := f.fault.check(OpSize, f.name); err != nil {
		return 0, err
	}
	return f.inner.Size()
}

// Close implements File. A failing one closes nonetheless.
func (f *faultFile) Close() error {
	return errors.Join(f.fault.check(OpClose, f.name), f.inner.Close())
}

type faultMapping struct {
	Mapping
	fault *Fault
	name  string
}

// Close implements Mapping. A failing one closes nonetheless.
func (m *faultMapping) Close() error {
	return errors.Join(m.fault.check(OpClose, m.name), m.Mapping.Close())
}
