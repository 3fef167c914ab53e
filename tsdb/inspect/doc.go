// Package inspect prints what is in a store's folder, for people who look after
// one: parts, log, index, manifest, and a check of all of them.
//
// It works on the files alone, whether the store is stopped or running, and
// never writes. It goes on past damage and says where it is: file, offset and
// what was expected.
//
// Every call prints to a writer and returns nil if all is sound, an error that
// wraps ErrDamage if something is not, and another error if it could not look.
// A torn end of the log or of the manifest is what a crash, or a write that is
// under way, leaves behind: it is printed and is no damage.
//
// In the folder of a running store a part may be merged away, or a segment of
// the log released, while it is being read. That is told apart from a missing
// one by a second look at the manifest.
package inspect
