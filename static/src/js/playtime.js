// The time of a run as its reader knows times.
const time = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export const fullTime = (milliseconds) => time.format(milliseconds);
