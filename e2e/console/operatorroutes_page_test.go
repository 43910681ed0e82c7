package console

import (
	"slices"
	"testing"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// TestOperatorOrdersRoutesByDragAndByKeyboard drags the first route of a model below the second one, moves it back by keys, and asks what
// another order would change. Nothing is put in force.
func TestOperatorOrdersRoutesByDragAndByKeyboard(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "orders")
	runsIt(t, c)
	p := harness.NewTab(t, desktopSize)
	signsIn(p, c.Gateway, c.Email, c.Password)
	p.Must(p.Expect.Locator(p.Locator("#balance")).ToBeVisible())
	p.Open(c.ConsoleURL + "/console/operator/models/meridian%2Fatlas-large")
	routes := p.GetByTestId("managed-route")
	order := func() []string {
		t.Helper()
		found, err := routes.EvaluateAll(`all => all.map(one => one.dataset.route)`)
		p.Must(err)
		var keys []string
		for _, key := range found.([]any) {
			keys = append(keys, key.(string))
		}
		return keys
	}
	first := order()
	if len(first) != 2 {
		t.Fatalf("the model has the routes %q", first)
	}
	swapped := []string{first[1], first[0]}

	drag(p, routes.Nth(0).Locator("[data-reorder-grip]"), routes.Nth(1))
	if got := order(); !slices.Equal(got, swapped) {
		t.Errorf("after the drag the order is %q", got)
	}
	said := p.Locator("[data-reorder-said]")
	p.Must(p.Expect.Locator(said).ToContainText("is now 2 of 2"))
	p.RequireText("This order is not in force yet.")

	up := routes.Nth(1).Locator(`[data-reorder-move="up"]`)
	p.Must(up.Focus())
	pressKey(p, "Enter")
	if got := order(); !slices.Equal(got, first) {
		t.Errorf("after the key the order is %q", got)
	}
	p.Must(p.Expect.Locator(said).ToContainText("is now 1 of 2"))
	p.Must(p.Expect.Locator(routes.Nth(0).Locator(`[data-reorder-move="down"]`)).ToBeFocused())
	pressKey(p, "Enter")
	if got := order(); !slices.Equal(got, swapped) {
		t.Errorf("after the second key the order is %q", got)
	}
	p.PressButton("Review the order")
	p.RequireText("Your current password")
	checkPage(p, "route-order")
}

// drag moves the pointer from the middle of one element into the lower part of another, with the button down.
func drag(p *harness.Tab, from, to playwright.Locator) {
	p.T.Helper()
	p.Must(to.ScrollIntoViewIfNeeded())
	p.Must(from.ScrollIntoViewIfNeeded())
	start, err := from.BoundingBox()
	p.Must(err)
	end, err := to.BoundingBox()
	p.Must(err)
	mouse := p.Mouse()
	p.Must(mouse.Move(start.X+start.Width/2, start.Y+start.Height/2))
	p.Must(mouse.Down())
	p.Must(mouse.Move(start.X+start.Width/2, end.Y+end.Height*0.9, playwright.MouseMoveOptions{Steps: new(8)}))
	p.Must(mouse.Up())
}
