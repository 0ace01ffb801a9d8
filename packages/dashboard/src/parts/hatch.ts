// The hatching of lost attempts: lines at 45°, 6 px apart, in a queue's colour.

const patterns = new Map<string, CanvasPattern>();

export function hatchOf(
  context: CanvasRenderingContext2D,
  colour: string,
  dpr: number,
): CanvasPattern | string {
  const key = `${colour} ${dpr}`;
  const known = patterns.get(key);
  if (known) return known;
  const size = Math.round(6 * dpr);
  const tile = document.createElement("canvas");
  tile.width = size;
  tile.height = size;
  const drawing = tile.getContext("2d") as CanvasRenderingContext2D;
  drawing.strokeStyle = colour;
  drawing.lineWidth = 2 * dpr;
  drawing.beginPath();
  for (const shift of [-size, 0, size]) {
    drawing.moveTo(shift - 2, size + 2);
    drawing.lineTo(shift + size + 2, -2);
  }
  drawing.stroke();
  const pattern = context.createPattern(tile, "repeat");
  if (!pattern) return colour;
  patterns.set(key, pattern);
  return pattern;
}
