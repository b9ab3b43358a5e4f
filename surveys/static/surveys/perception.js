// Dots in which a figure is seen only while they move. Inside and outside of it they are two patterns of chance that
// pass each other, so that every single picture is chance alone.

const [STEP, SHARE] = [60, 0.4]; // milliseconds from picture to picture; of the places that hold a dot
const form = document.querySelector("form[data-dots]");
const find = (name) => form.querySelector(name);
const [canvas, play, picture, words] = ["canvas", "[data-play]", "[data-picture]", "[data-words]"].map(find);
const side = canvas.width;
const mask = [...form.dataset.dots].flatMap((digit) => [8, 4, 2, 1].map((bit) => Boolean(parseInt(digit, 16) & bit)));
const cells = Math.sqrt(mask.length);
const [inside, outside] = [1, 2].map(() => Array.from({ length: side * side }, () => Math.random() < SHARE));
const began = performance.now();
let [at, plays, moving] = [0, 0, false];

function draw() {
  const pen = canvas.getContext("2d");
  pen.clearRect(0, 0, side, side);
  pen.fillStyle = getComputedStyle(canvas).color; // the scheme may change at any time
  for (let place = 0; place < side * side; place += 1) {
    const [x, y] = [place % side, Math.floor(place / side)];
    const isInside = mask[Math.floor(y * cells / side) * cells + Math.floor(x * cells / side)];
    const [pattern, from] = isInside ? [inside, x + at] : [outside, x - at];
    if (pattern[y * side + (from % side + side) % side]) pen.fillRect(x, y, 1, 1);
  }
}

function move(on) {
  plays += on && !moving ? 1 : 0;
  moving = on;
  play.textContent = on ? play.dataset.pause : play.dataset.play;
}

function swap(inWords) {
  [picture.hidden, words.hidden] = [inWords, !inWords];
  form.elements.words.value = inWords ? "1" : "";
  if (inWords) move(false);
}

for (const button of form.querySelectorAll("[data-swap]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    swap(words.hidden);
    (words.hidden ? picture : words).querySelector("fieldset").focus();
  });
}
play.addEventListener("click", () => move(!moving));
form.addEventListener("submit", () => {
  form.elements.plays.value = plays;
  form.elements.ms.value = Math.round(performance.now() - began);
});
swap(Boolean(words.dataset.words));
move(!words.dataset.words && !matchMedia("(prefers-reduced-motion: reduce)").matches);
setInterval(() => { at += moving ? 1 : 0; draw(); }, STEP);
