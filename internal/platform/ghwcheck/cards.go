package ghwcheck

import (
	"fmt"

	"github.com/jaypipes/ghw"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

// nvidia is the vendor's PCI ID.
const nvidia = "10de"

// graphics is a card as ghw reports it.
type graphics struct {
	address string
	vendor  string
	node    topology.NodeID // Unknown if ghw does not report it
}

// CardDifferences returns the differences between ghw's report of NVIDIA's cards under
// root and that of the driver, one sentence each. ghw reports only cards with a graphics
// driver, so a card that it lacks is not a difference.
func CardDifferences(v *gpu.Inventory, root string) []string {
	info, err := ghw.GPU(ghw.WithChroot(root), ghw.WithDisableTools(), ghw.WithDisableWarnings())
	if err != nil {
		return []string{fmt.Sprintf("ghw cannot list this machine's cards (%v): the GPUs are unchecked", err)}
	}
	var cards []graphics
	for _, c := range info.GraphicsCards {
		card := graphics{address: c.Address, node: topology.Unknown}
		if c.DeviceInfo != nil && c.DeviceInfo.Vendor != nil {
			card.vendor = c.DeviceInfo.Vendor.ID
		}
		if c.Node != nil {
			card.node = topology.NodeID(c.Node.ID)
		}
		cards = append(cards, card)
	}
	return compareCards(v, cards)
}

func compareCards(v *gpu.Inventory, cards []graphics) []string {
	byAddress := map[gpu.Address]gpu.Card{}
	for _, c := range v.Cards {
		byAddress[c.PCI] = c
	}
	var differences []string
	for _, c := range cards {
		address, err := gpu.ParseAddress(c.address)
		if err != nil || c.vendor != nvidia {
			continue
		}
		card, known := byAddress[address]
		switch {
		case !known:
			differences = append(differences, fmt.Sprintf("ghw sees an NVIDIA card at %s, of which the driver does not tell", address))
		case c.node != topology.Unknown && c.node != card.NUMA:
			differences = append(differences, fmt.Sprintf("ghw sees the card at %s on NUMA node %d, sysfs or the driver on %d", address, c.node, card.NUMA))
		}
	}
	return differences
}
