// The script of the playgrounds and of pictures, beside the one of every page.
import "./play.js";
import "./image.js";
