package gpu

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func split() *Inventory {
	return &Inventory{
		GPUs: []GPU{
			{UUID: "GPU-0", Model: "NVIDIA H100 80GB HBM3", MemoryBytes: 80 << 30, Health: Health{State: Healthy}},
			{UUID: "GPU-1", Index: 1, Model: "NVIDIA H100 80GB HBM3", MIG: true, Health: Health{State: Healthy}, Slices: []Slice{
				{UUID: "MIG-a", Profile: "1g.10gb", GPUInstance: 7, MemoryBytes: 10 << 30, Health: Health{State: Healthy}},
				{UUID: "MIG-b", Profile: "3g.40gb", GPUInstance: 2, MemoryBytes: 40 << 30, Health: Health{Unhealthy, "Xid 94"}},
			}},
			{UUID: "GPU-2", Index: 2, Model: "NVIDIA H100 80GB HBM3", MIG: true},
		},
		Links: Links{{{}, {18, Node}, {}}, {{18, Node}, {}, {}}, {{}, {}, {}}},
	}
}

func TestUnits(t *testing.T) {
	const name = "NVIDIA-H100-80GB-HBM3"
	want := []Unit{
		{"GPU-0", 0, Physical, name, 80 << 30, Health{State: Healthy}},
		{"MIG-a", 1, Virtual, name + "-MIG-1g.10gb", 10 << 30, Health{State: Healthy}},
		{"MIG-b", 1, Virtual, name + "-MIG-3g.40gb", 40 << 30, Health{Unhealthy, "Xid 94"}},
	}
	if diff := cmp.Diff(want, split().Units()); diff != "" {
		t.Errorf("units (-want +got):\n%s", diff)
	}
}

// TestUnitsOfSickGPU checks that the health of a slice in Units is not better than that
// of its GPU.
func TestUnitsOfSickGPU(t *testing.T) {
	v := split()
	v.GPUs[1].Health = Health{Unhealthy, "lost"}
	for _, u := range v.Units()[1:] {
		if u.Health.State != Unhealthy {
			t.Errorf("%s is %s on a GPU that is lost", u.ID, u.Health.State)
		}
	}
}

func TestFind(t *testing.T) {
	for id, want := range map[string]int{"GPU-0": 0, "GPU-2": 2, "MIG-b": 1, "": -1, "GPU-3": -1} {
		got, found := split().Find(id)
		if !found {
			got = -1
		}
		if got != want {
			t.Errorf("%q is at %d, want %d", id, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(*Inventory)
		want  string
	}{
		"sound":        {func(*Inventory) {}, ""},
		"no links":     {func(inventory *Inventory) { inventory.Links = nil }, ""},
		"no UUID":      {func(inventory *Inventory) { inventory.GPUs[2].UUID = "" }, `check GPU 2: UUID "" is empty or not unique`},
		"UUID twice":   {func(inventory *Inventory) { inventory.GPUs[1].Slices[1].UUID = "GPU-0" }, `check GPU 1: UUID "GPU-0" is empty or not unique`},
		"rows missing": {func(inventory *Inventory) { inventory.Links = inventory.Links[:2] }, "2 rows for 3 GPUs"},
		"ragged":       {func(inventory *Inventory) { inventory.Links[1] = inventory.Links[1][:1] }, "1 columns in row 1 for 3 GPUs"},
		"one way":      {func(inventory *Inventory) { inventory.Links[1][0] = Link{} }, "GPUs 0 and 1: the link is NV18 in one direction and ? in the other"},
	} {
		t.Run(name, func(t *testing.T) {
			v := split()
			tc.spoil(v)
			err := v.Check()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]Address{
		"00000000:3B:00.0": "0000:3b:00.0",
		"0000:3b:00.0":     "0000:3b:00.0",
		"00010001:00:1F.7": "10001:00:1f.7",
		"":                 "", "0000:3b:00": "", "0:100:00.0": "", "0000:3b:20.0": "", "0000:3b:00.8": "", "3b.00:00.0:0": "", "0000:3g:00.0": "",
	} {
		got, err := ParseAddress(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestTypeName(t *testing.T) {
	for model, want := range map[string]string{
		"NVIDIA H100 80GB HBM3":    "NVIDIA-H100-80GB-HBM3",
		"Tesla T4":                 "Tesla-T4",
		"NVIDIA A100-SXM4-80GB":    "NVIDIA-A100-SXM4-80GB",
		" NVIDIA GH200 480GB (x) ": "NVIDIA-GH200-480GB--x",
	} {
		if got := TypeName(model); got != want {
			t.Errorf("%q is of type %q, want %q", model, got, want)
		}
	}
	if got, want := SliceTypeName("NVIDIA A30", "1g.6gb+me"), "NVIDIA-A30-MIG-1g.6gb.me"; got != want {
		t.Errorf("slice is of type %q, want %q", got, want)
	}
}

func TestParseForm(t *testing.T) {
	for text, want := range map[string]Form{"physical": Physical, "virtual": Virtual, "any": AnyForm, "": AnyForm, "Physical": AnyForm} {
		got, err := ParseForm(text)
		if got != want || (err == nil) != (want != AnyForm) {
			t.Errorf("%q is %s, %v; want %s", text, got, err, want)
		}
	}
}

// TestWithLost checks that WithLost adds the GPUs that only the earlier inventory has, with the
// links and indexes that they have there.
func TestWithLost(t *testing.T) {
	// inventory returns an inventory with these GPUs, each written as UUID=INDEX. The
	// number of NVLinks between two GPUs is the sum of the numbers of their letters,
	// where a is 1 and b is 2.
	inventory := func(gpus ...string) *Inventory {
		v := &Inventory{Links: Links{}}
		for _, gpu := range gpus {
			v.GPUs = append(v.GPUs, GPU{UUID: gpu[:1], Index: int(gpu[2] - '0')})
		}
		for i, a := range v.GPUs {
			v.Links = append(v.Links, make([]Link, len(gpus)))
			for j, b := range v.GPUs {
				if i != j {
					v.Links[i][j].NVLinks = int(a.UUID[0]-'a') + int(b.UUID[0]-'a') + 2
				}
			}
		}
		return v
	}
	for name, tc := range map[string]struct{ earlier, now, want *Inventory }{
		"nothing is lost":         {inventory("a=0", "b=1"), inventory("a=1", "b=0"), inventory("a=1", "b=0")},
		"the first is lost":       {inventory("a=0", "b=1", "c=2"), inventory("b=1", "c=2"), inventory("a=0", "b=1", "c=2")},
		"others are renumbered":   {inventory("a=0", "b=1", "c=2"), inventory("b=0", "c=1"), inventory("a=0", "b=1", "c=2")},
		"all are lost":            {inventory("a=0", "b=1"), &Inventory{}, inventory("a=0", "b=1")},
		"there was nothing":       {&Inventory{}, inventory("a=0"), inventory("a=0")},
		"a new one beside a lost": {inventory("a=0"), inventory("b=1"), func() *Inventory { v := inventory("a=0", "b=1"); v.Links = Links{{{}, {}}, {{}, {}}}; return v }()},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.now.WithLost(tc.earlier)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("inventory (-want +got):\n%s", diff)
			}
			if err := got.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}
