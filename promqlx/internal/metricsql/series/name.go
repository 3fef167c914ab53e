package series

import (
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// NameLabel is the label that a metric's name is in.
const NameLabel = labels.MetricName

// Tag is a label other than the metric's name.
type Tag struct{ Key, Value string }

// Name is a metric's name and its labels, in an order that is kept: the one of
// storage (see FromLabels) until somebody sorts them. Two names are the same
// series if they are equal once sorted; see AppendKey.
//
// Strings are shared and immutable, Tags belong to one Name: a copy that is to be
// changed is made by Clone.
type Name struct {
	Group string // the metric's name, empty if there is none
	Tags  []Tag
}

// Clone returns a name that shares no Tags with n.
func (n *Name) Clone() Name { return Name{Group: n.Group, Tags: slices.Clone(n.Tags)} }

// Get returns the value of a label, NameLabel too; empty if it is not there.
func (n *Name) Get(key string) string {
	if key == NameLabel {
		return n.Group
	}
	for i := range n.Tags {
		if n.Tags[i].Key == key {
			return n.Tags[i].Value
		}
	}
	return ""
}

// Set gives a label a value, an empty one too; one that is new comes last.
func (n *Name) Set(key, value string) {
	if key == NameLabel {
		n.Group = value
		return
	}
	for i := range n.Tags {
		if n.Tags[i].Key == key {
			n.Tags[i].Value = value
			return
		}
	}
	n.Tags = append(n.Tags, Tag{key, value})
}

// Add puts a label last, without a look whether there is one of that key already.
func (n *Name) Add(key, value string) {
	if key == NameLabel {
		n.Group += value
		return
	}
	n.Tags = append(n.Tags, Tag{key, value})
}

// Put makes a label the last one, whether or not there was one of that key.
func (n *Name) Put(key, value string) {
	n.Remove(key)
	n.Add(key, value)
}

// Remove takes a label away.
func (n *Name) Remove(key string) {
	if key == NameLabel {
		n.Group = ""
		return
	}
	n.Tags = slices.DeleteFunc(n.Tags, func(t Tag) bool { return t.Key == key })
}

// Keep takes all labels away but those named.
func (n *Name) Keep(keys []string) {
	if !slices.Contains(keys, NameLabel) {
		n.Group = ""
	}
	n.Tags = slices.DeleteFunc(n.Tags, func(t Tag) bool { return !slices.Contains(keys, t.Key) })
}

// Drop takes the labels named away.
func (n *Name) Drop(keys []string) {
	if slices.Contains(keys, NameLabel) {
		n.Group = ""
	}
	n.Tags = slices.DeleteFunc(n.Tags, func(t Tag) bool { return slices.Contains(keys, t.Key) })
}

// Sort puts the labels in the order of their keys.
func (n *Name) Sort() {
	byKey := func(a, b Tag) int { return strings.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(n.Tags, byKey) {
		slices.SortFunc(n.Tags, byKey)
	}
}

// AppendKey sorts the labels and appends what tells this series from all others.
func (n *Name) AppendKey(dst []byte) []byte {
	dst = appendText(dst, n.Group)
	return n.AppendTagsKey(dst)
}

// AppendTagsKey sorts the labels and appends what tells them, without the metric's
// name, from all others.
func (n *Name) AppendTagsKey(dst []byte) []byte {
	n.Sort()
	for i := range n.Tags {
		dst = appendText(dst, n.Tags[i].Key)
		dst = appendText(dst, n.Tags[i].Value)
	}
	return dst
}

// appendText appends a text and its end in a way that no other texts do.
func appendText(dst []byte, s string) []byte {
	for n := uint(len(s)); ; n >>= 7 {
		if n < 0x80 {
			return append(append(dst, byte(n)), s...)
		}
		dst = append(dst, byte(n)|0x80)
	}
}

// String sorts the labels and returns the name as error texts have it.
func (n *Name) String() string {
	n.Sort()
	b := append([]byte(n.Group), '{')
	for i := range n.Tags {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(append(b, n.Tags[i].Key...), '=')
		b = strconv.AppendQuote(b, n.Tags[i].Value)
	}
	return string(append(b, '}'))
}

// Compare orders names by the metric's name, and then by the labels in the order
// they are in.
func Compare(a, b *Name) int {
	if c := strings.Compare(a.Group, b.Group); c != 0 {
		return c
	}
	return slices.CompareFunc(a.Tags, b.Tags, func(x, y Tag) int {
		if c := strings.Compare(x.Key, y.Key); c != 0 {
			return c
		}
		return strings.Compare(x.Value, y.Value)
	})
}
