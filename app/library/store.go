package library

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"umg/app/postgres"
)

// Load returns the library that was stored last, when its data is newer than that of the program, and otherwise that of the program.
func Load(ctx context.Context, q postgres.Queryer) (*Library, error) {
	var content string
	err := q.GetContext(ctx, &content, `
		select content from (select day, content from model_libraries order by number desc limit 1) last where day > $1::date`, Embedded().Date)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Embedded(), nil
	case err != nil:
		return nil, fmt.Errorf("library: load: %w", err)
	}
	l, err := Decode([]byte(content))
	if err != nil {
		return nil, fmt.Errorf("%w; store it again with gateway library update", err)
	}
	return l, nil
}

// Store keeps a library for Load. By is who did it.
func Store(ctx context.Context, q postgres.Queryer, l *Library, by string) error {
	content, err := l.Encode()
	if err != nil {
		return err
	}
	_, err = q.ExecContext(ctx, `insert into model_libraries (day, content, stored_by) values ($1::date, $2, $3)`, l.Date, string(content), by)
	if err != nil {
		return fmt.Errorf("library: store: %w", err)
	}
	return nil
}
