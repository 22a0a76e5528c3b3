package fuzztest_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/internal/testutil/fuzztest"
)

func TestDecode(t *testing.T) {
	for text, want := range map[string]bool{
		`{"metadata":{"name":"a1e234"},"status":{"capacity":{"cpu":"1e3","memory":"9223372036854775807"}}}`:     true,
		`{"status":{"capacity":{"cpu":"1e-1641327864"}}}`:                                                       false,
		`{"status":{"capacity":{"cpu":1e-1641327864}}}`:                                                         false,
		`{"status":{"capacity":{"cpu":"1\u0065-1641327864"}}}`:                                                  false,
		`{"status":{"capacity":{"cpu":"+.00000000000000000000000000000000000000000000000000000000000000001"}}}`: false,
		`{"status":1}`: false,
		`{`:            false,
	} {
		if got := fuzztest.Decode([]byte(text), &corev1.Node{}); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
