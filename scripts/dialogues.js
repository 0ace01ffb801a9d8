// Draws the pictures of the dialects' dialogues: `npm run dialogues`. Each text in
// docs/images/dialogues/ becomes an SVG beside it. A line of the text is one of:
//   lanes: A, B (role), C      the parties, from left to right
//   A > B: message | remark    a message from A to B
//   at A: words                something that A does by itself
//   lost A: words              A is gone
//   -- words                   another scene begins
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../docs/images/dialogues/", import.meta.url));
const gap = 285;
const margin = 110;
const top = 64;
/** Room for each kind of line, in pixels. */
const heights = { message: 38, at: 34, lost: 34, scene: 44 };

const remarkHeight = 9;

/** Name and SVG of every picture. */
export function pictures() {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".txt"))
    .map((name) => [name.replace(/txt$/, "svg"), draw(parse(readFileSync(folder + name, "utf8"), name))]);
}

function parse(text, name) {
  const [first = "", ...lines] = text.trim().split("\n");
  const lanes = first.replace(/^lanes: /, "").split(", ");
  const laneOf = (party) => {
    const lane = lanes.findIndex((each) => each === party || each.startsWith(`${party} (`));
    if (lane < 0) throw new Error(`${name}: no lane is called ${JSON.stringify(party)}`);
    return lane;
  };
  return { lanes, steps: lines.map((line) => stepOf(line, laneOf, name)) };
}

function stepOf(line, laneOf, name) {
  if (line.startsWith("-- ")) return { type: "scene", words: line.slice(3) };
  const [, kind, party, words] = /^(at|lost) ([^:]+): (.+)$/.exec(line) ?? [];
  if (kind) return { type: kind, lane: laneOf(party), words };
  const [, from, to, message, remark = ""] = /^(.+?) > ([^:]+): (.+?)(?: \| (.+))?$/.exec(line) ?? [];
  if (!from) throw new Error(`${name}: cannot read ${JSON.stringify(line)}`);
  return { type: "message", from: laneOf(from), to: laneOf(to), message, remark };
}

function draw({ lanes, steps }) {
  const width = 2 * margin + gap * (lanes.length - 1);
  let y = top;
  const body = steps.map((step, index) => {
    y += heights[step.type] + (steps[index - 1]?.remark ? remarkHeight : 0);
    return drawStep(step, y, width);
  });
  const height = y + 28;
  const rails = lanes.map((lane, index) => {
    const x = xOf(index);
    return [
      `<line x1="${x}" y1="${top - 22}" x2="${x}" y2="${height - 14}" class="rail"/>`,
      `<rect x="${x - 104}" y="14" width="208" height="28" rx="6" class="head"/>`,
      `<text x="${x}" y="33" text-anchor="middle" class="name">${escaped(lane)}</text>`,
    ].join("\n");
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<title>${escaped(`Messages between ${lanes.join(", ")}`)}</title>
<style>
text { font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1d2733 }
.name { font: 600 14px system-ui, "DejaVu Sans", sans-serif }
.aside, .scene { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #5b6876 }
.scene { font-style: italic }
.rail { stroke: #b4bec9; stroke-dasharray: 4 4 }
.head, .own { fill: #eef2f6; stroke: #b4bec9 }
.arrow { stroke: #2f5d8c; stroke-width: 1.5 }
.tip { fill: #2f5d8c }
.lost { stroke: #b3372f; stroke-width: 2 }
</style>
<rect width="${width}" height="${height}" rx="8" fill="#fff"/>
${[...rails, ...body].join("\n")}
</svg>
`;
}

function xOf(lane) {
  return margin + lane * gap;
}

function drawStep(step, y, width) {
  if (step.type === "scene") return drawScene(step, y, width);
  if (step.type === "message") return drawMessage(step, y);
  return step.type === "at" ? drawOwn(step, y) : drawLoss(step, y);
}

function drawMessage({ from, to, message, remark }, y) {
  const way = Math.sign(to - from);
  const [start, end] = [xOf(from) + 3 * way, xOf(to) - 3 * way];
  const middle = (start + end) / 2;
  return [
    `<line x1="${start}" y1="${y}" x2="${end - 6 * way}" y2="${y}" class="arrow"/>`,
    `<path d="M${end} ${y} l${-9 * way} -5 v10 z" class="tip"/>`,
    `<text x="${middle}" y="${y - 6}" text-anchor="middle">${escaped(message)}</text>`,
    remark &&
      `<text x="${middle}" y="${y + 13}" text-anchor="middle" class="aside">${escaped(remark)}</text>`,
  ]
    .filter(Boolean)
    .join("\n");
}

function drawOwn({ lane, words }, y) {
  const half = Math.max(44, words.length * 3.4 + 8);
  return [
    `<rect x="${xOf(lane) - half}" y="${y - 16}" width="${2 * half}" height="22" rx="11" class="own"/>`,
    `<text x="${xOf(lane)}" y="${y - 1}" text-anchor="middle" class="aside">${escaped(words)}</text>`,
  ].join("\n");
}

function drawLoss({ lane, words }, y) {
  const x = xOf(lane);
  return [
    `<path d="M${x - 6} ${y - 12} l12 12 m0 -12 l-12 12" class="lost"/>`,
    `<text x="${x - 14}" y="${y - 2}" text-anchor="end" class="aside">${escaped(words)}</text>`,
  ].join("\n");
}

function drawScene({ words }, y, width) {
  return [
    `<line x1="20" y1="${y - 10}" x2="${width - 20}" y2="${y - 10}" stroke="#dde3e9"/>`,
    `<text x="24" y="${y + 5}" class="scene">${escaped(words)}</text>`,
  ].join("\n");
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, svg] of pictures()) writeFileSync(folder + name, svg);
}
