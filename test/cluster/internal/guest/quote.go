package guest

import "strings"

// Line makes one shell line of a command: a single word is a line of its own
// ("ps | wc -l"), several are an argument vector and each is quoted.
func Line(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}

// Quote makes one word of a shell line.
func Quote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
