// Doors whose dialects have no credentials: their peers have the rights of the anonymous principal.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Access } from "../access/access.js";
import { accessSettings } from "../access/settings.js";
import { patience } from "../testing/patience.js";
import { PulseYard } from "../testing/pulse-yard.js";
import { UdpYard } from "../testing/udp-yard.js";

function accessWith(door: string, rights: object, quotas = {}): Access {
  const settings = accessSettings.parse({ principals: { guest: { rights, quotas } } });
  return new Access({ settings, doors: { [door]: { anonymous: "guest" } } });
}

test("udp: submitting and working need their rights", patience, async () => {
  for (const [rights, mayWork] of [
    [{ submit: ["udp"] }, false],
    [{ work: ["u*"] }, true],
  ] as const) {
    const yard = await new UdpYard({ access: accessWith("udp", rights) }).open();
    const peer = await yard.peer();
    peer.ask("add_task", { task_id: 1 });
    if (mayWork) await yard.faults("denied", 1);
    else {
      await peer.next("add_task", 2);
      assert.deepEqual(await yard.story(1), ["submitted by guest"]);
    }
    peer.say("heartbeat", { status: "ready" });
    if (mayWork) await yard.workerIs(peer, ({ slots }) => slots === 1);
    else await yard.faults("denied", 1);
    assert.equal((await yard.workers()).length, mayWork ? 1 : 0);
    await yard.close();
  }
});

test("udp: a task beyond the rate of the principal is not acknowledged", patience, async () => {
  const access = accessWith("udp", { submit: ["udp"] }, { submissionsPerSecond: 0.001 });
  const yard = await new UdpYard({ access }).open();
  const peer = await yard.peer();
  peer.ask("add_task", { task_id: 1 });
  await peer.next("add_task", 2);
  peer.ask("add_task", { task_id: 2 });
  await yard.faults("refused", 1);
  const [guest] = [...access.principals()];
  assert.deepEqual([guest?.submitted, guest?.quotas.refusals.submissions], [1, 1]);
  await yard.close();
});

test("pulse: a worker without the right is answered FAILED", patience, async () => {
  const yard = await new PulseYard({ access: accessWith("pulse", { work: ["other"] }) }).open();
  assert.equal(await yard.pulse("REGISTER"), "FAILED");
  assert.equal(yard.door.faults.count("denied"), 1);
  await yard.close();
});
