package kubelet

import (
	"fmt"
	"strings"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
)

// share returns the id of a share of a card.
func share(card string, ordinal int) string { return fmt.Sprint(card, v1alpha1.GPUShareMark, ordinal) }

func isShare(id string) bool { return strings.Contains(id, v1alpha1.GPUShareMark) }

// shared returns the resource of shares.
func (g *GPUs) shared() string { return g.Resource + ".shared" }

// sharesOf returns how many shares a card is offered in; a slice is not.
func (g *GPUs) sharesOf(u gpu.Unit) int {
	if u.Form != gpu.Physical {
		return 0
	}
	return g.Shares
}

// resource returns the resource of a card or slice.
func (g *GPUs) resource(v *gpu.Inventory, u gpu.Unit) string {
	if u.Form == gpu.Physical {
		return g.Resource
	}
	domain, _, _ := strings.Cut(g.Resource, "/")
	for _, s := range v.Cards[u.Card].Slices {
		if s.UUID == u.ID {
			return domain + "/mig-" + gpu.ProfileName(s.Profile)
		}
	}
	return g.Resource
}
