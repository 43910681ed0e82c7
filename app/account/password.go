package account

import (
	"context"
	"fmt"
	"net/mail"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"golang.org/x/sync/semaphore"

	"umg/app"
	"umg/app/postgres"
)

const (
	emailBytesMax    = 254
	hashesMax        = 2  // Each hash takes a core for tens of milliseconds and 19 MiB.
	hashesWaitingMax = 64 // This many further hashes wait for their turn.
	hashMemoryKiB    = 19 * 1024
	hashRounds       = 2
)

// unknownUserFormat makes the hash that replaces that of a user who does not exist, so that an unknown e-mail address takes as long as
// a wrong password. No password matches it: its key is not the output of the function.
const unknownUserFormat = "$argon2id$v=19$m=%d,t=%d,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// passwords hashes and compares passwords, few at a time.
type passwords struct {
	running     *semaphore.Weighted
	waiting     *semaphore.Weighted
	cost        *argon2id.Params
	unknownUser string
}

// newPasswords returns passwords whose hashes take an amount of memory.
func newPasswords(memoryKiB uint32) *passwords {
	cost := &argon2id.Params{Memory: memoryKiB, Iterations: hashRounds, Parallelism: 1, SaltLength: 16, KeyLength: 32}
	return &passwords{
		running: semaphore.NewWeighted(hashesMax), waiting: semaphore.NewWeighted(hashesMax + hashesWaitingMax),
		cost: cost, unknownUser: fmt.Sprintf(unknownUserFormat, cost.Memory, cost.Iterations),
	}
}

// turn waits until a hash may be computed. The caller calls done afterwards.
func (p *passwords) turn(ctx context.Context) (done func(), err error) {
	if !p.waiting.TryAcquire(1) {
		busy := app.Errorf(app.Unavailable, "busy", "Too many people are signing in at this moment. Try again in a few seconds.")
		return nil, busy.After(hashBusyPause)
	}
	if err := p.running.Acquire(ctx, 1); err != nil {
		p.waiting.Release(1)
		return nil, postgres.StoreError("account: wait to hash a password", err)
	}
	return func() {
		p.running.Release(1)
		p.waiting.Release(1)
	}, nil
}

func (p *passwords) hash(ctx context.Context, password string) (string, error) {
	done, err := p.turn(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	hash, err := argon2id.CreateHash(password, p.cost)
	if err != nil {
		return "", fmt.Errorf("account: hash a password: %w", err)
	}
	return hash, nil
}

// matches takes the same time for every answer. An empty hash matches no password.
func (p *passwords) matches(ctx context.Context, password, hash string) (bool, error) {
	done, err := p.turn(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	if hash == "" {
		hash = p.unknownUser
	}
	same, err := argon2id.ComparePasswordAndHash(password, hash)
	if err != nil {
		return false, fmt.Errorf("account: compare a password: %w", err)
	}
	return same, nil
}

// shownAddress repeats what was entered as an address, as far as an error has room for it.
func shownAddress(email string) string {
	const runesMax = 60
	if email = strings.ToValidUTF8(email, "?"); utf8.RuneCountInString(email) > runesMax {
		email = string([]rune(email)[:runesMax]) + "…"
	}
	return strconv.Quote(email)
}

// normaliseEmail returns the one spelling under which an address is stored. Only ASCII is taken: letters that look
// like others, or become others when lower-cased, would let two people share what looks like one address.
func normaliseEmail(email string) (string, error) {
	email = strings.TrimSpace(email)
	bad := app.Errorf(app.Invalid, "invalid_email", "%s is not an e-mail address such as name@example.com.", shownAddress(email)).At("email")
	if len(email) > emailBytesMax || strings.IndexFunc(email, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		return "", bad
	}
	address := strings.ToLower(email)
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address || parsed.Name != "" {
		return "", bad
	}
	return address, nil
}
