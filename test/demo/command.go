package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

func (d demo) numalet(ctx context.Context, args ...string) (string, error) {
	return output(exec.CommandContext(ctx, d.bin, args...))
}

func kubectl(ctx context.Context, args ...string) (string, error) {
	return output(exec.CommandContext(ctx, "kubectl", args...))
}

// output runs a command and returns its output. The error contains the command's standard error.
func output(cmd *exec.Cmd) (string, error) {
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, &complaint)
	}
	return string(out), nil
}

// indent indents each line of a text by two spaces.
func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}
