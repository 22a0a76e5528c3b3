package cgroup

import "testing"

func TestLocate(t *testing.T) {
	for name, tc := range map[string]struct {
		target string
		want   location
		bad    bool
	}{
		"cgroupfs container":   {target: "/kubepods/burstable/pod1-2/c1", want: location{"/kubepods/burstable/pod1-2/c1", ""}},
		"cgroupfs relative":    {target: "kubepods/pod1/c1", want: location{"/kubepods/pod1/c1", ""}},
		"systemd container":    {target: "kubepods-burstable-pod1_2.slice:cri-containerd:c1", want: location{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/cri-containerd-c1.scope", "cri-containerd-c1.scope"}},
		"systemd, no prefix":   {target: "a.slice::c1", want: location{"/a.slice/c1.scope", "c1.scope"}},
		"systemd pod":          {target: "kubepods-pod1.slice", want: location{"/kubepods.slice/kubepods-pod1.slice", "kubepods-pod1.slice"}},
		"systemd as scanned":   {target: "/kubepods.slice/kubepods-pod1.slice/crio-c1.scope", want: location{"/kubepods.slice/kubepods-pod1.slice/crio-c1.scope", "crio-c1.scope"}},
		"systemd pod, as path": {target: "/kubepods.slice/kubepods-pod1.slice", want: location{"/kubepods.slice/kubepods-pod1.slice", "kubepods-pod1.slice"}},
		"empty":                {target: "", bad: true},
		"climbs out":           {target: "/kubepods/../../etc", bad: true},
		"climbs out by slice":  {target: "../a.slice:x:y", bad: true},
		"two parts":            {target: "a.slice:x", bad: true},
		"no name":              {target: "a.slice:x:", bad: true},
		"path as a name":       {target: "a.slice:x:y/z", bad: true},
		"no slice":             {target: "a:x:y", bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := locate(tc.target)
			if (err != nil) != tc.bad {
				t.Fatalf("locate(%q) error = %v, want bad = %v", tc.target, err, tc.bad)
			}
			if err == nil && got != tc.want {
				t.Errorf("locate(%q) = %+v, want %+v", tc.target, got, tc.want)
			}
		})
	}
}
