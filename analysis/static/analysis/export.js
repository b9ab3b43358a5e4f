// The export page works as a form; this says at once what is ticked, and lets each file follow the chosen format.
const form = document.getElementById("everything");
const written = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

function follow() {
  const ticked = [...document.querySelectorAll("input[name=table]:checked")];
  const rows = ticked.reduce((sum, box) => sum + Number(box.dataset.rowsOf), 0);
  form.querySelector("[data-count]").textContent = written(ticked.length, "table");
  form.querySelector("[data-sum]").textContent = written(rows, "row");
  form.querySelector("[data-download]").disabled = !ticked.length;
  const chosen = form.querySelector("input[name=format]:checked");
  for (const link of document.querySelectorAll("a[data-table]")) {
    link.href = link.href.replace(/\.\w+(?=\?|$)/, `.${chosen.value}`);
    link.ariaLabel = `${link.dataset.table} as ${chosen.parentElement.textContent.trim()}`;
  }
}

if (form) {
  document.addEventListener("change", follow);
  follow(); // a browser that comes back to the page keeps what was ticked
}
