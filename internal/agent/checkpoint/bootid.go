package checkpoint

import (
	"fmt"
	"io/fs"
	"strings"
)

// BootID returns the ID that the kernel gave this boot of the machine. `root` is the root
// directory of the machine's file system.
// Source: random(4), /proc/sys/kernel/random/boot_id.
func BootID(root fs.FS) (string, error) {
	text, err := fs.ReadFile(root, "proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
