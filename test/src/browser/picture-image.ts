// A small PNG, computed: a yard at dusk. It is the result of the task in the drawings.

import { crc32, deflateSync } from "node:zlib";

type Colour = readonly [red: number, green: number, blue: number];

const [width, height] = [480, 270];

function mixed(from: Colour, to: Colour, share: number): Colour {
  const part = (at: 0 | 1 | 2) =>
    Math.round(from[at] + (to[at] - from[at]) * Math.max(0, Math.min(1, share)));
  return [part(0), part(1), part(2)];
}

/** Two lines of hills, the nearer one darker. */
function hillAt(x: number, base: number, rise: number, shift: number): number {
  return base - rise * (Math.sin(x / 61 + shift) * 0.6 + Math.sin(x / 23 + shift * 2) * 0.25 + 0.5);
}

function colourAt(x: number, y: number): Colour {
  const sky = mixed([92, 68, 108], [232, 150, 120], y / 150);
  if (y > 186) return groundAt(x, y);
  if (y > hillAt(x, 190, 42, 2)) return [70, 50, 82];
  if (y > hillAt(x, 168, 48, 0)) return [112, 76, 104];
  const sun = Math.hypot(x - 330, y - 112);
  if (sun < 34) return [255, 222, 168];
  return mixed([255, 205, 160], sky, (sun - 30) / 90);
}

/** Tracks that meet at the horizon. */
function groundAt(x: number, y: number): Colour {
  const depth = (y - 180) / 90;
  for (let track = -3; track <= 4; track += 1) {
    const middle = 250 + track * 130 * depth;
    if (Math.abs(x - middle) < 1 + depth * 2.4) return [26, 20, 36];
  }
  return Math.floor(18 / (depth + 0.12)) % 9 === 0 ? [48, 36, 60] : [62, 46, 74];
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

export function pictureImage(): Buffer {
  const rows = Buffer.alloc(height * (1 + width * 3));
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = y * (1 + width * 3) + 1 + x * 3;
      rows.set(colourAt(x, y), at);
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  return Buffer.concat([
    signature,
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}
