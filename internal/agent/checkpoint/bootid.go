package checkpoint

import (
	"fmt"
	"io/fs"
	"strings"
)

// BootID returns the kernel's id of this boot; root is the file system root.
// Source: random(4), /proc/sys/kernel/random/boot_id.
func BootID(root fs.FS) (string, error) {
	text, err := fs.ReadFile(root, "proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
