package scenario

import (
	"strconv"
	"strings"
	"time"
)

// Obey obeys one command of those that a scene has, by its first word: it returns what
// that writes to answer, which is emptied before.
func Obey(answer *strings.Builder, commands map[string]func(args []string), command []string) string {
	do, ok := commands[command[0]]
	if !ok {
		return "no such command\n"
	}
	answer.Reset()
	do(command[1:])
	return answer.String()
}

// Number reads a number of a command. One that is none ends the test.
func Number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// Duration reads a duration of a command. One that is none ends the test.
func Duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
}
