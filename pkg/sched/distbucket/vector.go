package distbucket

// Vector holds an amount for each dimension, in the order the administrator named them and in units of his choice. What is free and what is
// requested are vectors; a coordinate is not.
type Vector []int64

// Covers says whether v has at least what request asks for in every dimension.
func (v Vector) Covers(request Vector) bool {
	for d, want := range request {
		if v[d] < want {
			return false
		}
	}
	return true
}

// minus returns what is left of v, at least 0, when amounts are taken from it.
func (v Vector) minus(amounts Vector) Vector {
	left := make(Vector, len(v))
	for d := range v {
		left[d] = max(v[d]-amounts[d], 0)
	}
	return left
}
