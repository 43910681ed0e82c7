// The one script of the console. Every module improves a page that works without it.
import "htmx.org/dist/htmx.esm.js";
import "./swaps.js";
import "./theme.js";
import "./copy.js";
import "./modal.js";
import "./menus.js";
import "./tabs.js";
import "./play.js";
import "./image.js";
import "./videos.js";
import "./videoscrop.js";
import "./webhooks.js";
import "./billing.js";
import "./shortcuts.js";
import "./times.js";
import "./forms.js";
import "./toasts.js";
