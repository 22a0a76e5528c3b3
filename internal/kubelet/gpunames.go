package kubelet

import (
	"fmt"
	"strings"

	"github.com/numalet/numalet/pkg/gpu"
)

// shareMark stands between a card's UUID and the ordinal of a share of it.
const shareMark = "::"

// share returns the id of a share of a card.
func share(card string, ordinal int) string { return fmt.Sprint(card, shareMark, ordinal) }

// cardOf returns the UUID of what a device is or is a share of.
func cardOf(id string) string {
	uuid, _, _ := strings.Cut(id, shareMark)
	return uuid
}

func isShare(id string) bool { return strings.Contains(id, shareMark) }

// shared returns the resource of shares.
func (g *GPUs) shared() string { return g.Resource + ".shared" }

// sharesOf returns how many shares a card is offered in; a slice is not.
func (g *GPUs) sharesOf(u gpu.Unit) int {
	if u.Form != gpu.Physical {
		return 0
	}
	return g.Shares
}

// resource returns the resource of a card or slice. A profile may have a sign
// that the name of a resource may not: 1g.10gb+me is nvidia.com/mig-1g.10gb.me.
func (g *GPUs) resource(v *gpu.Inventory, u gpu.Unit) string {
	if u.Form == gpu.Physical {
		return g.Resource
	}
	domain, _, _ := strings.Cut(g.Resource, "/")
	for _, s := range v.Cards[u.Card].Slices {
		if s.UUID == u.ID {
			return domain + "/mig-" + strings.ReplaceAll(s.Profile, "+", ".")
		}
	}
	return g.Resource
}
