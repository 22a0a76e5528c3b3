package guest

import "strings"

// Line returns the shell command line for words. A single word is a command line already, such as
// "ps | wc -l". Several words are a program and its arguments, so each is quoted.
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

// Quote quotes text so that a shell reads it as one word.
func Quote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
