package write

import "hash/maphash"

// key is a keyed 128-bit hash, made of two independent halves.
type key struct{ a, b uint64 }

// keyer makes keys. The seeds are random and of this process alone, so that no
// sender can aim for a collision.
type keyer struct {
	seedA, seedB maphash.Seed
	mulA, mulB   uint64 // odd
}

func newKeyer() keyer {
	k := keyer{seedA: maphash.MakeSeed(), seedB: maphash.MakeSeed()}
	// 3 modulo 8 keeps powers of the multiplier, and their differences, from
	// having many factors of two, so that hardly a bit is lost in join.
	k.mulA = maphash.String(k.seedA, "multiplier")&^7 | 3
	k.mulB = maphash.String(k.seedB, "multiplier")&^7 | 3
	return k
}

// of returns the key of b.
func (k *keyer) of(b []byte) key {
	return key{maphash.Bytes(k.seedA, b), maphash.Bytes(k.seedB, b)}
}

// joined begins the key of a sequence of keys: join adds one, done ends it. The
// key is a polynomial of the members, different for other members or another
// order.
func (k *keyer) joined() key { return key{1, 1} }

func (k *keyer) join(seq, member key) key {
	return key{seq.a*k.mulA + member.a, seq.b*k.mulB + member.b}
}

func (k *keyer) done(seq key) key { return key{mix(seq.a), mix(seq.b)} }

// mix spreads the bits of x one to one.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}
