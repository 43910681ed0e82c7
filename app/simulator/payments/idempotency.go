package payments

import "time"

const (
	keysMax      = 20_000
	keyBytesMax  = 255
	keyRemembers = 24 * time.Hour
)

// keys remember what was answered to idempotency keys.
type keys struct {
	known map[string]kept
	order []string
}

type kept struct {
	mark string
	at   time.Time
	answer
}

// look finds what was answered to a key before. Another request under the same key is refused.
func (k *keys) look(key, mark string, now time.Time) (answer, *failure, bool) {
	if len(key) > keyBytesMax {
		return answer{}, invalid("", "", "Idempotency keys can have up to %d characters.", keyBytesMax), false
	}
	before, known := k.known[key]
	if !known || now.Sub(before.at) >= keyRemembers {
		return answer{}, nil, false
	}
	if before.mark != mark {
		failed := invalid("", "", "Keys for idempotent requests can only be used with the same parameters they were first used with. "+
			"Try using a key other than '%s' if you meant to execute a different request.", key)
		failed.Type = "idempotency_error"
		return answer{}, failed, false
	}
	return before.answer, nil, true
}

func (k *keys) keep(key, mark string, a answer, now time.Time) {
	if _, known := k.known[key]; !known {
		if len(k.order) >= keysMax {
			delete(k.known, k.order[0])
			k.order = k.order[1:]
		}
		k.order = append(k.order, key)
	}
	k.known[key] = kept{mark: mark, at: now, answer: a}
}
