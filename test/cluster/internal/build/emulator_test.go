package build

import "testing"

func TestNewEnough(t *testing.T) {
	for version, want := range map[string]bool{
		"QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)\n": false,
		"QEMU emulator version 8.0.5\n":                                 false,
		"QEMU emulator version 8.1.0\n":                                 true,
		"QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2+deb13u1)\n": true,
		"": false,
	} {
		if got := newEnough(version); got != want {
			t.Errorf("newEnough(%q) = %v, want %v", version, got, want)
		}
	}
}
