package video

import (
	"context"

	"umg/app"
)

// Quote is what a job would cost.
type Quote struct {
	Model, Size     string
	Seconds         int
	RateCardID      string
	PerSecond, Cost app.Amount
}

// Quote goes the way of Create as far as the hold: a call that is wrong is refused in the same words, and one that is
// right is priced. Nothing is written and no provider is asked.
func (s *Service) Quote(ctx context.Context, c Call) (Quote, error) {
	p, err := s.prepare(ctx, &c)
	if err != nil {
		return Quote{}, err
	}
	slot, err := s.enter(&c, p.model, true)
	if err != nil {
		return Quote{}, err
	}
	defer slot.Release(0)
	if err := s.resolveAssets(ctx, &c, p); err != nil {
		return Quote{}, err
	}
	if _, err := s.firstFrame(ctx, &c, p); err != nil {
		return Quote{}, err
	}
	second, err := costOf(p.card, 1)
	if err != nil {
		return Quote{}, err
	}
	return Quote{
		Model: p.model.ID, Size: p.params.size, Seconds: p.params.seconds, RateCardID: p.card.ID, PerSecond: second, Cost: p.cost,
	}, nil
}
