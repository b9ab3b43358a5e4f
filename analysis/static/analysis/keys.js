// One key for each thing that carries data-key: it is clicked, or focused when it is a field. Not while writing.

const WRITING = "input:not([type=radio]):not([type=checkbox]), textarea, select";

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.matches?.(WRITING)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const wanted = document.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]:not(:disabled)`);
  if (!wanted) return;
  event.preventDefault();
  if (wanted.matches(WRITING)) wanted.select();
  else wanted.click();
});
