package kubelet

import (
	"testing"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// TestPublishChanges checks that the method `publish` reports a change if the new list differs from
// the last one in any property of a device. Only then does the kubelet get the new list.
func TestPublishChanges(t *testing.T) {
	for name, tc := range map[string]struct {
		next []*pluginapi.Device
		want bool
	}{
		"the same":              {[]*pluginapi.Device{newDevice("a", true, 1, true)}, false},
		"another device":        {[]*pluginapi.Device{newDevice("b", true, 1, true)}, true},
		"unhealthy":             {[]*pluginapi.Device{newDevice("a", false, 1, true)}, true},
		"on another NUMA node":  {[]*pluginapi.Device{newDevice("a", true, 0, true)}, true},
		"on no known NUMA node": {[]*pluginapi.Device{newDevice("a", true, -1, false)}, true},
		"none":                  {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlugin(whole, nil)
			p.publish([]*pluginapi.Device{newDevice("a", true, 1, true)})
			if got := p.publish(tc.next); got != tc.want {
				t.Errorf("publish() = %v, want %v", got, tc.want)
			}
		})
	}
}
