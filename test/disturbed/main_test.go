package main

import (
	"os"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

func TestDraw(t *testing.T) {
	results, err := os.Open("testdata/two.json")
	if err != nil {
		t.Fatal(err)
	}
	defer results.Close()
	var out strings.Builder
	if err := draw(&out, results); err != nil {
		t.Fatal(err)
	}
	scenario.Golden(t, "testdata/two.svg", out.String())
	if err := draw(&out, strings.NewReader("no JSON")); err == nil {
		t.Error("draw of no results succeeded")
	}
}
