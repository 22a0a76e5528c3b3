package bucket

import "errors"

// Config is the administrator's: it holds for the life of an index.
type Config struct {
	Theta Vector // granularity of each dimension, at least 1; as many as there are dimensions
	Order []int  // the dimension that each level of the tree fixes; nil stands for 0, 1, 2, …
}

// Index is the writer's end of DistBuckets.
type Index struct{}

// New returns an empty index, or says what is wrong with the configuration.
func New(Config) (*Index, error) { return nil, errors.ErrUnsupported }

// Add takes a node into the index. It is an error if one of that name is there.
func (x *Index) Add(Node) error { return errors.ErrUnsupported }

// Update replaces the node of that name. It is an error if there is none.
func (x *Index) Update(Node) error { return errors.ErrUnsupported }

// Remove takes the node of that name out. It is an error if there is none.
func (x *Index) Remove(name string) error { return errors.ErrUnsupported }

// Len returns the number of nodes.
func (x *Index) Len() int { return 0 }

// View returns the index as it is now, in O(1). Later changes do not show in it.
func (x *Index) View() View { return View{} }
