//go:build !linux && !darwin && !race

package mem

import (
	"errors"
	"unsafe"
)

const (
	canMap = false
	poison = false
)

func mapMemory(int) (unsafe.Pointer, error) { return nil, errors.ErrUnsupported }

func unmapMemory(unsafe.Pointer, int) {}
