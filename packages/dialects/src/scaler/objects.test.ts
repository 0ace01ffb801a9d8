import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { WireFrames } from "../wire-frames.js";
import { plainResult } from "./frames.js";
import { MadeObjects } from "./made-objects.js";
import { ScalerObjects } from "./objects.js";
import { PackedResult } from "./packed-messages.js";
import type { ScalerObject } from "./scaler-object.js";

const host = { written: () => {}, replaced: () => {}, gone: () => {} };
const secret = { first: 1, second: 2 };

test("an object is there as long as it has an owner or is needed, with the content it was given", () => {
  const id = fc.constantFrom("a", "b", "c");
  const owner = fc.constantFrom("one", "two", "three");
  // Sizes below and above the limit for objects that are kept as a string.
  const size = fc.constantFrom(0, 5, 900, 1_100, 5_000);
  const step = fc.oneof(
    fc.record({ type: fc.constant("create"), id, owner, size }),
    fc.record({ type: fc.constantFrom("disown", "need", "release"), id, owner, size }),
    fc.record({ type: fc.constant("disown-all"), id, owner, size }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const gone: string[] = [];
      const objects = new ScalerObjects(1 << 20, secret, {
        ...host,
        gone: (object) => gone.push(object.idText),
      });
      const model = new Map<
        string,
        { owners: Set<string>; needs: ScalerObject[]; size: number | undefined }
      >();
      for (const { type, id: name, owner: by, size: length } of steps) {
        const idBytes = Buffer.from(name);
        const known = model.get(name) ?? { owners: new Set<string>(), needs: [], size: undefined };
        if (type === "create") {
          const frames = [idBytes, Buffer.from(`name ${length}`), Buffer.alloc(length, 7)];
          const isTaken =
            known.size !== undefined &&
            known.size !== length &&
            known.owners.size > 0 &&
            !known.owners.has(by);
          const outcome = objects.create(by, WireFrames.of(frames), 0, 1, 2);
          assert.equal(outcome, isTaken ? "taken" : objects.get(idBytes));
          if (!isTaken) {
            known.owners.add(by);
            known.size = length;
          }
        } else if (type === "disown") {
          objects.disown(by, idBytes);
          known.owners.delete(by);
        } else if (type === "need") known.needs.push(objects.need(idBytes));
        else if (type === "release") {
          const needed = known.needs.pop();
          if (needed !== undefined) objects.release(needed);
        }
        model.set(name, known);
        if (type === "disown-all") {
          objects.disownAll(by);
          for (const each of model.values()) each.owners.delete(by);
        }
        for (const [key, each] of model) {
          if (each.owners.size === 0 && each.needs.length === 0) model.delete(key);
        }
        let bytes = 0;
        for (const key of ["a", "b", "c"]) {
          const object = objects.get(Buffer.from(key));
          const expected = model.get(key);
          assert.equal(object === undefined, expected === undefined);
          assert.deepEqual(new Set(object?.owners()), expected?.owners ?? new Set());
          assert.equal(object?.bytes?.length, expected?.size);
          if (expected?.size !== undefined) {
            assert.equal(object?.name.toString(), `name ${expected.size}`);
            assert.equal(object?.id.toString(), key);
            bytes += key.length + `name ${expected.size}`.length + expected.size + 256;
          }
        }
        assert.equal(objects.bytes, bytes);
        assert.equal(objects.size, model.size);
      }
      assert.deepEqual(
        [...objects.owners()].sort(),
        [...new Set([...model.values()].flatMap(({ owners }) => [...owners]))].sort(),
      );
    }),
  );
});

test("what a worker made is let go of with it, unless a result has named it or another made it since", () => {
  const objects = new ScalerObjects(1 << 20, secret, host);
  const [first, second] = [new MadeObjects(objects), new MadeObjects(objects)];
  const naming = (...ids: string[]) =>
    PackedResult.of({ ...plainResult(Buffer.from("t"), "S"), results: ids.map((id) => Buffer.from(id)) });
  const make = (made: MadeObjects, name: string): ScalerObject => {
    const id = Buffer.from(name);
    objects.make("client", id, { name: id, bytes: id });
    const object = objects.get(id) as ScalerObject;
    made.add(object, "client");
    return object;
  };
  for (const name of ["named", "dropped", "left", "taken over", "deleted"]) make(first, name);
  make(second, "taken over");
  first.nameAll(naming("named", "unknown"));
  first.drop(naming("dropped", "taken over"));
  assert.equal(objects.get(Buffer.from("dropped")), undefined);
  objects.disown("client", Buffer.from("deleted"));
  first.dropAll();
  assert.equal(objects.get(Buffer.from("left")), undefined);
  assert.ok(objects.get(Buffer.from("named"))?.isThere);
  assert.ok(objects.get(Buffer.from("taken over"))?.isThere);
  second.dropAll();
  assert.equal(objects.size, 1);
});

test("places of objects that nobody has created are bounded, until they are created or let go", () => {
  const objects = new ScalerObjects(1 << 20, secret, host);
  const places: ScalerObject[] = [];
  while (objects.hasRoomForMissing && places.length < 1_000_000)
    places.push(objects.need(Buffer.from(`missing ${places.length}`)));
  // 64 MiB, at about 270 bytes each.
  assert.ok(places.length > 200_000 && places.length < 300_000, `${places.length} places`);
  objects.make("owner", Buffer.from("missing 0"), { name: Buffer.from("n"), bytes: Buffer.from("b") });
  assert.equal(objects.hasRoomForMissing, true);
  objects.need(Buffer.from("one more"));
  assert.equal(objects.hasRoomForMissing, false);
  objects.release(places[1] as ScalerObject);
  assert.equal(objects.hasRoomForMissing, true);
});
