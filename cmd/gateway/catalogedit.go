package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"umg/app"
	"umg/app/catalog"
	"umg/app/catalog/change"
)

// errUnconfirmed means that the changes were printed and not made.
var errUnconfirmed = errors.New("nothing was changed: add --yes to make the changes without a question")

// editFlags are those of commands that change the catalog in force.
type editFlags struct {
	databaseFlags

	Yes              bool   `help:"Make the changes without a question."`
	ConfirmBelowCost bool   `help:"Allow prices that are below the cost of a route."`
	By               string `help:"Name for the history; default: USER@HOST." placeholder:"NAME"`
	Note             string `help:"Reason, for the history." placeholder:"TEXT"`
}

// terminal is where a command prints, and where the operator confirms changes.
type terminal struct {
	out io.Writer
	// confirm asks a question. It returns errUnconfirmed when no one can answer.
	confirm func(question string) (bool, error)
}

// standardTerminal prints to standard output and asks at the terminal of the process, because standard input may have a key.
func standardTerminal() *terminal { return &terminal{out: os.Stdout, confirm: askAtTerminal} }

// askAtTerminal returns errUnconfirmed when the process has no terminal.
func askAtTerminal(question string) (bool, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false, errUnconfirmed
	}
	defer func() { _ = tty.Close() }()
	if _, err := fmt.Fprint(tty, question+" [y/N] "); err != nil {
		return false, errUnconfirmed
	}
	answer, err := bufio.NewReader(tty).ReadString('\n')
	if err != nil {
		return false, errUnconfirmed
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

// edit prints what a change of the catalog does, and makes it when it is confirmed. Prepare runs between the two, and undo when the change
// fails after it; both may be nil. The change and the preview are of the same version: another operator's change in between is an error.
func (f *editFlags) edit(
	ctx context.Context, s *database, t *terminal, edit func(catalog.File) (catalog.File, error), prepare, undo func() error,
) error {
	old, version, err := catalog.ExportVersion(ctx, s.db)
	if err != nil {
		return err
	}
	next, err := edit(old)
	if err != nil {
		return commandError(err)
	}
	preview, err := change.Preview(old, next)
	if err != nil {
		return err
	}
	if len(preview.Problems) > 0 {
		return problemsError(preview.Problems)
	}
	if err := printChanges(t.out, &preview); err != nil {
		return err
	}
	if len(preview.Diff) == 0 {
		return nil
	}
	if len(preview.BelowCost) > 0 && !f.ConfirmBelowCost {
		return errors.New("prices are below cost: change them, or add --confirm-below-cost")
	}
	if err := f.confirmed(t); err != nil {
		return err
	}
	if prepare != nil {
		if err := prepare(); err != nil {
			return err
		}
	}
	action := catalog.HistoryAction{By: cmp.Or(f.By, userAtHost()), Note: f.Note, BelowCost: f.ConfirmBelowCost}
	_, err = catalog.Edit(ctx, s.db, action, version, edit)
	if err != nil {
		if undo != nil {
			err = errors.Join(err, undo())
		}
		return commandError(err)
	}
	if err := awaitServers(ctx, s.db); err != nil {
		return err
	}
	_, err = fmt.Fprintln(t.out, "The changes are in force.")
	return err
}

func (f *editFlags) confirmed(t *terminal) error {
	if f.Yes {
		return nil
	}
	yes, err := t.confirm("Make these changes?")
	if err != nil {
		return err
	}
	if !yes {
		return errors.New("nothing was changed")
	}
	return nil
}

// commandError is the error of a change as a command prints it: the message alone, and what to do about another operator's change.
func commandError(err error) error {
	e, ok := errors.AsType[*app.Error](err)
	switch {
	case !ok:
		return err
	case e.Code == "catalog_changed":
		return errors.New(strings.Replace(strings.Replace(e.Message, "since you opened this page", "while this command ran", 1),
			"Open the page again to see the catalog in force.", "Nothing was changed; run the command again.", 1))
	}
	return errors.New(e.Message)
}

func problemsError(problems []catalog.FileError) error {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.Error()
	}
	return fmt.Errorf("the catalog would have %d mistakes, so nothing was changed:\n%s", len(problems), strings.Join(lines, "\n"))
}

// printChanges prints the changes of the catalog and what customers see of them.
func printChanges(out io.Writer, c *change.Changes) error {
	w := bufio.NewWriter(out)
	section := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		_, _ = fmt.Fprintln(w, title)
		for _, line := range lines {
			_, _ = fmt.Fprintln(w, "  "+line)
		}
	}
	if len(c.Diff) == 0 {
		_, _ = fmt.Fprintln(w, "The catalog does not change.")
	}
	section("Changes of the catalog:", c.Diff)
	var seen []string
	for _, m := range c.New {
		text := "new: " + m.ID + " (" + strings.Join(m.Prices, ", ") + ")"
		if len(m.Accounts) > 0 {
			text += ", for " + strings.Join(m.Accounts, ", ")
		}
		seen = append(seen, text)
	}
	for _, id := range c.Gone {
		seen = append(seen, "gone: "+id)
	}
	for _, p := range c.Prices {
		text := p.Model + ": " + p.Text
		if p.From != "" {
			text += " from " + p.From
		}
		seen = append(seen, text)
	}
	section("Customers will see:", seen)
	section("Prices below cost:", c.BelowCost)
	return w.Flush()
}
