// The events of both streams match the API's description, and everything described occurs.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ApiClient, type ApiDocument } from "../testing/api-client.js";
import { EventReader, type ReadEvent } from "../testing/event-reader.js";
import { HandDoor } from "../testing/hand-door.js";
import { patience } from "../testing/patience.js";
import { eventTypes } from "./event-filter.js";
import { YardUnderTest } from "./yard-under-test.js";

type EventSchema = NonNullable<ApiDocument["components"]["schemas"][string]>;

describe("the events of streams", patience, () => {
  let yard: YardUnderTest;
  let hand: HandDoor;
  let document: ApiDocument;
  let client: ApiClient;
  const readers: EventReader[] = [];
  before(async () => {
    yard = new YardUnderTest();
    hand = new HandDoor(yard.runtime.port("hand"));
    yard.runtime.attach(hand);
    await yard.open();
    document = (await yard.ask("GET", "/openapi.json")).json;
    client = new ApiClient(document, yard.base);
  });
  after(async () => {
    for (const reader of readers) reader.close();
    await yard.close();
  });

  /** The described data of each event, by name. */
  function describedBy(component: string): Map<unknown, EventSchema> {
    const events = document.components.schemas[component]?.oneOf ?? [];
    return new Map(
      events.map((event) => [
        event.properties?.event?.const,
        resolved(event.properties?.data?.contentSchema),
      ]),
    );
  }

  function resolved(schema: EventSchema | undefined): EventSchema {
    const name = schema?.$ref?.replace("#/components/schemas/", "");
    return (name === undefined ? schema : document.components.schemas[name]) ?? {};
  }

  /** Reads a stream and checks each event. */
  async function follow(path: string, operation: string, component: string) {
    const reader = await EventReader.open(`http://${yard.base}${path}`);
    readers.push(reader);
    const described = describedBy(component);
    const seen = new Set<unknown>();
    const check = (event: ReadEvent): void => {
      const { id, ...unnumbered } = event;
      client.checkEvent(operation, id === "" ? unnumbered : event);
      const known = Object.keys(described.get(event.event)?.properties ?? {});
      for (const key of Object.keys(event.data)) assert.ok(known.includes(key), `${event.event}: ${key}`);
      seen.add(event.event);
    };
    return {
      assertAllSeen: () => assert.deepEqual([...seen].sort(), [...described.keys()].sort()),
      until: (name: string, fits: (data: Record<string, unknown>) => boolean = () => true) =>
        reader.until((event) => {
          check(event);
          return event.event === name && fits(event.data);
        }),
    };
  }

  test("of the yard", async () => {
    const events = await follow(`/v1/events?types=${eventTypes.join(",")}`, "followEvents", "YardEvent");
    await events.until("snapshot");
    const { id } = await yard.submit("passing", "x");
    await events.until("queue", ({ name }) => name === "passing");
    await yard.ask("POST", `/v1/tasks/${id}:cancel`);
    await events.until("queue-gone", ({ name }) => name === "passing");
    await yard.submit("q", "x");
    await yard.claim("q", "w");
    await events.until("worker", ({ id: worker }) => worker === "http/w");
    const first = hand.join("hand/first", "q");
    await events.until("worker", ({ id: worker }) => worker === first);
    // Some of the lost workers are shown; if there are more, the oldest is left out.
    for (const worker of [first, ...Array.from({ length: 101 }, (_, n) => hand.join(`hand/${n}`, "q"))]) {
      hand.post({ type: "worker-left", worker, reason: "goodbye" });
    }
    await events.until("worker-gone", ({ id: worker }) => worker === first);
    // More than a stream sends at once.
    await yard.ask("POST", "/v1/queues/many/tasks:batch", { body: '{"payload":1}\n'.repeat(1000) });
    await events.until("skipped");
    await events.until("attempts", ({ busy }) => busy !== null);
    await events.until("beats");
    await events.until("figures");
    await events.until("alert", ({ code }) => code === "no_worker");
    await yard.ask("POST", "/v1/queues/many:pause");
    await events.until("alert-gone", ({ id: alert }) => alert === "no_worker:many");
    events.assertAllSeen();
  });

  test("of the wire", async () => {
    const events = await follow("/v1/wire", "followWire", "WireEvent");
    await yard.submit("q", "x");
    await events.until("message", ({ type }) => type === "submitTask");
    for (let n = 0; n < 20_000; n++) {
      yard.tap.show({ door: "udp", direction: "in", peer: "p", type: "job", bytes: 3, content: { n } });
    }
    await events.until("skipped");
    events.assertAllSeen();
    // A listener that fell behind does not learn how many it missed.
    client.checkEvent("followWire", { event: "skipped", data: { messages: null } });
    assert.throws(() => client.checkEvent("followWire", { event: "skipped", data: { tasks: 1 } }));
  });
});
