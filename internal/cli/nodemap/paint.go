package nodemap

import "fmt"

// Paint colours the text of the holder at an index with an escape sequence (ECMA-48, SGR):
// the colours 1 to 6 of the terminal, in bold after the first six holders.
func Paint(holder int, text string) string {
	const colours = 6
	return fmt.Sprintf("\x1b[%d;%dm%s\x1b[0m", holder/colours%2, 31+holder%colours, text)
}
