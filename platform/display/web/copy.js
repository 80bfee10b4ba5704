// Commands that give a row or a cell again: buttons that copy them, and the command of the cell that was chosen last.

const commands = JSON.parse(document.getElementById("commands").textContent);

const ICON = '<svg viewBox="0 0 16 16" aria-hidden="true"><path d="M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z"/></svg>';

/** A word of a command as a shell reads it. */
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);

/** Copies a command; where the browser refuses, shows it to be copied by hand. */
async function copyCommand(button) {
  const { copy } = button.dataset;
  const said = document.getElementById("copied");
  try {
    await navigator.clipboard.writeText(copy);
    said.textContent = `Copied: ${copy}`;
  } catch {
    said.textContent = `Copy this: ${copy}`;
  }
  button.classList.add("done");
  setTimeout(() => button.classList.remove("done"), 1500);
}

/** The command that scores a cell of a heat map again; empty for published results. */
function cellCommand({ study, view, index }, { row, column }) {
  const known = commands[study.name];
  if (!known) return "";
  const trained = view.carried[index]?.[row] ?? study.checkpoints[row];
  const words = ["--again", `${known.methods[index]}@${trained}`, "--on", view.evaluated[column]];
  if (known.tasks > 1) words.push("--task", view.task);
  if (known.seeds[index] !== null) words.push("--seed", String(known.seeds[index]));
  return [known.start, ...words.map(quoted)].join(" ");
}

let chosenCell = null;
document.addEventListener("cell", ({ target, detail }) => {
  if (target.closest("#difference")) return void (chosenCell = null); // a difference is no cell of one model
  const boxes = [...document.querySelectorAll("#heatmaps .map")];
  const place = boxes.includes(target) ? boxes.indexOf(target) : Number(document.getElementById("large").dataset.place);
  chosenCell = [maps()[place], detail];
});

function offerCell({ target, type, key }) {
  if (!chosenCell || !target.closest?.(".map") || (type === "keydown" && key !== "Enter")) return;
  const command = cellCommand(...chosenCell);
  if (!command) return;
  const button = element("button", { type: "button", className: "copy", ariaLabel: "Copy the command that scores this cell again", title: command });
  button.innerHTML = ICON;
  button.dataset.copy = command;
  const line = document.getElementById("cell");
  line.replaceChildren("This cell again: ", element("code", {}, command), " ", button);
  line.hidden = false;
}
document.addEventListener("click", offerCell);
document.addEventListener("keydown", offerCell);
document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("button.copy");
  if (button) copyCommand(button);
});
for (const button of document.querySelectorAll("button.copy")) button.hidden = false;
