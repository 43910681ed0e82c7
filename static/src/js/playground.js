// The script of the playgrounds and of videos, beside the one of every page.
import "./play.js";
import "./image.js";
import "./videos.js";
import "./videoscrop.js";
