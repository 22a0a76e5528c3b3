package guest

import "strings"

// Line returns the shell line of a command. A single word is a line already
// ("ps | wc -l"); several words are an argument vector, and each is quoted.
func Line(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = Quote(word)
	}
	return strings.Join(quoted, " ")
}

// Quote quotes text as one word of a shell line.
func Quote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
