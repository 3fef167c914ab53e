// Package load writes a file of line protocol into varve with two writers and
// reports what that cost: processor time per sample, peak memory, bytes on disk.
//
// E2E_LOAD_FILE names the file (plain, .zst or .gz); without it a small data set
// of the same shape is made up. Figures are the server's own, from /proc, so they
// hold on a machine that does other things too.
package load
