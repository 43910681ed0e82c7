package llm

// ExtraSet is a set of rows of a style's table of extras, by the numbers of the rows. The zero value is empty.
type ExtraSet [2]uint64

// ExtraSetMax is the number of rows that a set can have.
const ExtraSetMax = 128

const bitsPerWord = 64

// Has reports whether the set has a row. A number outside of the set is not in it.
func (s *ExtraSet) Has(row int) bool {
	return row >= 0 && row < ExtraSetMax && s[row/bitsPerWord]&(1<<(row%bitsPerWord)) != 0
}

// Add adds a row.
func (s *ExtraSet) Add(row int) { s[row/bitsPerWord] |= 1 << (row % bitsPerWord) }

// AddAll adds all rows of another set.
func (s *ExtraSet) AddAll(other ExtraSet) {
	for i := range s {
		s[i] |= other[i]
	}
}

// IsEmpty reports whether the set has no row.
func (s ExtraSet) IsEmpty() bool { return s == ExtraSet{} }

// Meets reports whether the two sets have a row in common.
func (s ExtraSet) Meets(other ExtraSet) bool { return s[0]&other[0]|s[1]&other[1] != 0 }
