package picture

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

// Lengths in pixels.
const (
	charWidth  = 7.3 // of the monospaced font at 12 pixels
	lineHeight = 18
	threadSize = 26 // width and height of a CPU's box; the box is wider if its label needs more
	gap        = 6
	padding    = 10
	rowWidth   = 860 // maximum width of a row; a box that does not fit starts a new row
	coresInRow = 8
)

// style is the CSS with the colours. In dark mode the background is dark. In light and in dark
// mode, CPUs have dark text on bright colours.
const style = `
  text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328 }
  .page { fill: #ffffff } .group { fill: none; stroke: #8c959f } .core { fill: #d0d7de }
  .cpu { fill: #ffffff } .shared { fill: #b6e3ff } .reserved { fill: #afb8c1 } .gpu { fill: #d8b9ff }
  .held0 { fill: #ffc680 } .held1 { fill: #aceebb } .held2 { fill: #ffb3b3 } .held3 { fill: #fae17d }
  .held4 { fill: #ffadda } .held5 { fill: #9be7e0 } .on { fill: #1f2328; text-anchor: middle }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .page { fill: #0d1117 } .core { fill: #484f58 } .cpu { fill: #c9d1d9 } .on { fill: #1f2328 }
  }
`

// heldColours is the number of colours for exclusive CPUs. If there are more holders (containers
// and pods with CPUs or GPUs), several of them have the same colour. Up to 26 holders have different
// letters.
const heldColours = 6

// SVG writes a machine as an SVG image. The image shows the same tree as the text of Draw, as
// nested boxes. GPUs are small boxes in the box of their NUMA node. If `use` is not nil, colours and
// letters show how each CPU and GPU is used.
func SVG(w io.Writer, machine *topology.Machine, gpus []gpu.GPU, use *Use) error {
	d := &drawing{machine: machine, gpus: gpus, use: use, drawn: map[topology.NodeID]bool{}}
	body := rows(d.groups(tree(machine, nil)), rowWidth)
	body = column(text(totals(machine)), body)
	body = column(body, d.withoutCPUs())
	body = column(body, d.legend())
	width, height := body.width+2*padding, body.height+2*padding
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"%s\">\n",
		width, height, width, height, html.EscapeString(totals(machine)))
	fmt.Fprintf(&b, "<style>%s</style>\n<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", style, width, height)
	body.draw(&b, padding, padding)
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// box is a part of the picture. The function `draw` writes the SVG elements of the box. The point x,
// y is the upper left corner of the box.
type box struct {
	width, height int
	draw          func(b *strings.Builder, x, y int)
}

// text returns a box with a line of text.
func text(line string) box {
	return box{int(charWidth * float64(len([]rune(line)))), lineHeight, func(b *strings.Builder, x, y int) {
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\">%s</text>\n", x, y+lineHeight-5, html.EscapeString(line))
	}}
}

// chip returns a coloured box with centred text.
func chip(class, line string, width, height int) box {
	return box{width, height, func(b *strings.Builder, x, y int) {
		fmt.Fprintf(b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\"/>", class, x, y, width, height)
		fmt.Fprintf(b, "<text class=\"on\" x=\"%d\" y=\"%d\">%s</text>\n", x+width/2, y+height/2+4, html.EscapeString(line))
	}}
}

// frame returns a box that has a border around the given box. The argument `pad` is the distance
// between the border and the given box.
func frame(class string, pad int, inner box) box {
	return box{inner.width + 2*pad, inner.height + 2*pad, func(b *strings.Builder, x, y int) {
		fmt.Fprintf(b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\"/>\n", class, x, y, inner.width+2*pad, inner.height+2*pad)
		inner.draw(b, x+pad, y+pad)
	}}
}

// column returns a box that has one box above another. If one of them is empty (draw is nil), the
// result is the other one.
func column(above, below box) box {
	if above.draw == nil || below.draw == nil {
		return either(above, below)
	}
	return box{max(above.width, below.width), above.height + gap + below.height, func(b *strings.Builder, x, y int) {
		above.draw(b, x, y)
		below.draw(b, x, y+above.height+gap)
	}}
}

// The function `either` returns its first argument, or its second one if the first is empty (draw
// is nil).
func either(one, other box) box {
	if one.draw == nil {
		return other
	}
	return one
}

// row returns a box that has the given boxes side by side.
func row(boxes []box, space int) (r box) {
	for i, part := range boxes {
		if i > 0 {
			r.width += space
		}
		r.width += part.width
		r.height = max(r.height, part.height)
	}
	r.draw = func(b *strings.Builder, x, y int) {
		for _, part := range boxes {
			part.draw(b, x, y)
			x += part.width + space
		}
	}
	return r
}

// drawing is the input of SVG, and a record of which GPUs are drawn already.
type drawing struct {
	machine *topology.Machine
	gpus    []gpu.GPU
	use     *Use                     // nil if the use is unknown
	drawn   map[topology.NodeID]bool // NUMA nodes whose GPUs are in the picture already
}

// rows returns a box that has the given boxes in rows. A row is at most as wide as the given width,
// unless a single box is wider.
func rows(boxes []box, width int) (all box) {
	var line []box
	used := 0
	for _, part := range boxes {
		if used+part.width > width && len(line) > 0 {
			all, line, used = column(all, row(line, gap)), nil, 0
		}
		line = append(line, part)
		used += part.width + gap
	}
	if len(line) == 0 {
		return all
	}
	return column(all, row(line, gap))
}

func (d *drawing) groups(groups []group) (boxes []box) {
	for _, g := range groups {
		boxes = append(boxes, d.group(g))
	}
	return boxes
}

// group returns the box of a group (a part of the machine, such as a package). The box has the
// group's label, its parts or its cores, and its GPUs.
func (d *drawing) group(g group) box {
	chips := d.chips(g)
	var inner box
	if len(g.parts) > 0 {
		inner = rows(d.groups(g.parts), rowWidth-4*padding)
	} else {
		cores := d.cores(g.cpus)
		inner = rows(cores, coresInRow*(cores[0].width+gap))
	}
	return frame("group", padding, column(column(text(g.label), inner), chips))
}

// cores returns a box for each core, with its CPUs.
func (d *drawing) cores(cpus []topology.CPU) (boxes []box) {
	var core []box
	for i, cpu := range cpus {
		core = append(core, d.cpu(cpu))
		last := i == len(cpus)-1
		if !last && cpu.Core != topology.Unknown && cpus[i+1].Core == cpu.Core {
			continue
		}
		boxes, core = append(boxes, frame("core", 2, row(core, 2))), nil
	}
	return boxes
}

// cpu returns the box of one CPU. The text of the box is P or E for the kind of the CPU's core, the
// number of the CPU, * if the CPU is isolated, and the letter of the container that holds it.
func (d *drawing) cpu(c topology.CPU) box {
	label := kindLetter(c.Kind) + fmt.Sprint(c.ID)
	if c.Isolated {
		label += "*"
	}
	class := "cpu"
	if d.use != nil {
		class = d.class(c.ID)
		if i := d.use.holder(c.ID); i >= 0 {
			label += " " + letter(i)
		}
	}
	return chip(class, label, max(threadSize, int(charWidth*float64(len(label)))+4), threadSize)
}

// class returns the CSS class of a CPU, which depends on whether the CPU is held, reserved or
// shared.
func (d *drawing) class(cpu cpuset.CPU) string {
	switch i := d.use.holder(cpu); {
	case i >= 0:
		return heldClass(i)
	case d.use.Reserved.Has(cpu):
		return "reserved"
	}
	return "shared"
}

// chips returns a box with the GPUs of the NUMA node to which the CPUs of the group belong. If the
// CPUs belong to several NUMA nodes, the box is empty. It is also empty if the GPUs of the NUMA
// node were drawn before, so that no GPU is drawn twice.
func (d *drawing) chips(g group) box {
	node := g.cpus[0].NUMA
	for _, cpu := range g.cpus {
		if cpu.NUMA != node {
			return box{}
		}
	}
	if d.drawn[node] {
		return box{}
	}
	d.drawn[node] = true
	return d.gpusOf(node)
}

// gpusOf returns a box that has a small box for each GPU of a NUMA node.
func (d *drawing) gpusOf(node topology.NodeID) box {
	var boxes []box
	for _, gpu := range d.gpus {
		if gpu.NUMA == node {
			class, label := d.held(gpu)
			boxes = append(boxes, chip(class, label, int(charWidth*float64(len(label)))+2*gap, threadSize))
		}
	}
	return rows(boxes, rowWidth/2)
}

// held returns the CSS class and the text of a GPU. The class has the colour of the first container
// or pod that holds the GPU. The text ends with the letters that stand for all holders of the GPU.
func (d *drawing) held(c gpu.GPU) (class, label string) {
	class, label = "gpu", "GPU "+title(c)
	for n, i := range d.use.holders(c.UUID) {
		if n == 0 {
			class = heldClass(i)
		}
		label += " " + letter(i)
	}
	return class, label
}

// heldClass returns the CSS class of the CPUs and GPUs that Use.Held[i] holds.
func heldClass(i int) string { return fmt.Sprintf("held%d", i%heldColours) }

// withoutCPUs returns boxes for NUMA nodes with memory only, and for GPUs whose NUMA
// node is unknown or has no CPUs.
func (d *drawing) withoutCPUs() box {
	var boxes []box
	for _, node := range d.machine.Nodes {
		if node.CPUs.Empty() {
			d.drawn[node.ID] = true
			label := text(nodeLabel(d.machine, int(node.ID)) + " · memory only")
			if node.GPU != "" {
				label = text(nodeLabel(d.machine, int(node.ID)) + " · memory of GPU " + node.GPU)
			}
			boxes = append(boxes, frame("group", padding, column(label, d.gpusOf(node.ID))))
		}
	}
	if gpus := d.gpusOf(topology.Unknown); gpus.draw != nil && !d.drawn[topology.Unknown] {
		boxes = append(boxes, frame("group", padding, column(text("NUMA unknown"), gpus)))
	}
	return rows(boxes, rowWidth)
}

// legend returns a box that lists the offline and isolated CPUs. If d.use is not nil, the box also
// lists the colour and letter of each holder, and the colours of shared and reserved CPUs.
func (d *drawing) legend() (all box) {
	if off := offline(d.machine); !off.Empty() {
		all = column(all, text(fmt.Sprintf("offline: %s", off)))
	}
	if isolated := d.machine.Isolated(); !isolated.Empty() {
		all = column(all, text(fmt.Sprintf("* isolated: %s", isolated)))
	}
	if d.use == nil {
		return all
	}
	for i, h := range d.use.Held {
		key := chip(heldClass(i), letter(i), threadSize, lineHeight)
		all = column(all, row([]box{key, text(h.Name + ": " + h.what())}, gap))
	}
	all = column(all, row([]box{chip("shared", "", threadSize, lineHeight), text("shared CPUs")}, gap))
	if !d.use.Reserved.Empty() {
		all = column(all, row([]box{chip("reserved", "", threadSize, lineHeight), text(fmt.Sprintf("reserved CPUs %s: shared, and never exclusive", d.use.Reserved))}, gap))
	}
	return all
}
