// Package cpuset has sets of logical CPUs.
//
// The package has the set operations, and reads and writes the kernel's text formats: lists
// ("0-3,8") and masks ("0000010f"). Package topology describes the CPUs of a machine, and package
// cpuset/pool assigns CPUs to containers.
//
//	free := cpuset.MustParse("0-7").Minus(cpuset.Of(0, 4))
//	fmt.Println(free, free.Len()) // 1-3,5-7 6
package cpuset

import (
	"iter"
	"math/bits"
	"slices"
)

// CPU is a logical CPU as Linux numbers it: the N of /sys/devices/system/cpu/cpuN.
// It is never negative.
type CPU int

// Set is an immutable set of CPUs; the zero value is the empty set.
//
// A Set is a bitmap with one bit per CPU id and no zero word at its end, so equal sets have equal
// words. Union, Intersect and Minus allocate a new Set. The time that they take grows with the
// number of words, each of which has the bits of 64 CPUs.
//
// A Go map, which k8s.io/utils/cpuset uses to store a set, was rejected because it is slow. Package
// pool needs several dozen set operations to choose CPUs for a container. With 512 CPUs, a union of
// maps takes tens of microseconds, and a union of eight words takes nanoseconds. An array of fixed
// length was rejected because it would need 8192 bits, one for each CPU that Linux on x86 can have.
// Most machines have far fewer CPUs.
type Set struct{ words []uint64 }

// Of returns the set of the given CPUs. It panics if an id is negative.
func Of(cpus ...CPU) Set {
	if len(cpus) == 0 {
		return Set{}
	}
	w := make([]uint64, wordOf(slices.Max(cpus))+1)
	for _, cpu := range cpus {
		w[wordOf(cpu)] |= 1 << (uint(cpu) % 64)
	}
	return Set{w}
}

// Range returns the set {first, …, last}. It is empty if last < first. Otherwise, Range panics if
// an id is negative.
func Range(first, last CPU) Set {
	if last < first {
		return Set{}
	}
	w := make([]uint64, wordOf(last)+1)
	for c := first; c <= last; c++ {
		w[wordOf(c)] |= 1 << (uint(c) % 64)
	}
	return Set{w}
}

// wordOf returns the index of the word that has c's bit. It shifts instead of dividing by 64,
// because -1/64 is 0 in Go. With the shift, the index of a negative id (a defect of the caller) is
// negative. An access to `words` with this index panics, instead of changing another CPU's bit.
func wordOf(c CPU) int { return int(c) >> 6 }

// Len returns how many CPUs the set has.
func (s Set) Len() int {
	n := 0
	for _, word := range s.words {
		n += bits.OnesCount64(word)
	}
	return n
}

// Empty reports whether the set has no CPU.
func (s Set) Empty() bool { return len(s.words) == 0 }

// Has reports whether c is in the set.
func (s Set) Has(c CPU) bool {
	i := int(c) / 64
	return c >= 0 && i < len(s.words) && s.words[i]&(1<<(uint(c)%64)) != 0
}

// First returns the smallest CPU, or false if the set is empty.
func (s Set) First() (CPU, bool) {
	for i, word := range s.words {
		if word != 0 {
			return CPU(i*64 + bits.TrailingZeros64(word)), true
		}
	}
	return 0, false
}

// All yields the CPUs in ascending order.
func (s Set) All() iter.Seq[CPU] {
	return func(yield func(CPU) bool) {
		for i, word := range s.words {
			for ; word != 0; word &= word - 1 {
				if !yield(CPU(i*64 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

// Slice returns the CPUs in ascending order.
func (s Set) Slice() []CPU { return slices.Collect(s.All()) }

// Equal reports whether both sets have the same CPUs.
func (s Set) Equal(t Set) bool { return slices.Equal(s.words, t.words) }

// SubsetOf reports whether every CPU of s is in t.
func (s Set) SubsetOf(t Set) bool { return s.Minus(t).Empty() }

// Overlaps reports whether s and t share a CPU.
func (s Set) Overlaps(t Set) bool {
	for i := range min(len(s.words), len(t.words)) {
		if s.words[i]&t.words[i] != 0 {
			return true
		}
	}
	return false
}

// Union returns the CPUs that are in s or in t.
func (s Set) Union(t Set) Set {
	long, short := s.words, t.words
	if len(long) < len(short) {
		long, short = short, long
	}
	w := slices.Clone(long)
	for i, b := range short {
		w[i] |= b
	}
	return Set{w}
}

// Intersect returns the CPUs that are in both s and t.
func (s Set) Intersect(t Set) Set {
	w := slices.Clone(s.words[:min(len(s.words), len(t.words))])
	for i := range w {
		w[i] &= t.words[i]
	}
	return trim(w)
}

// Minus returns the CPUs of s that are not in t.
func (s Set) Minus(t Set) Set {
	w := slices.Clone(s.words)
	for i := range min(len(w), len(t.words)) {
		w[i] &^= t.words[i]
	}
	return trim(w)
}

// trim removes zero words at the end, so that equal sets have equal words.
func trim(w []uint64) Set {
	for len(w) > 0 && w[len(w)-1] == 0 {
		w = w[:len(w)-1]
	}
	return Set{w}
}
