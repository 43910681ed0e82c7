// The script of every page. Every module improves a page that works without it.
import "htmx.org/dist/htmx.esm.js";
import "./swaps.js";
import "./theme.js";
import "./copy.js";
import "./modal.js";
import "./menus.js";
import "./tabs.js";
import "./webhooks.js";
import "./billing.js";
import "./usage.js";
import "./requestlog.js";
import "./keys.js";
import "./shortcuts.js";
import "./palette.js";
import "./times.js";
import "./forms.js";
import "./toasts.js";
